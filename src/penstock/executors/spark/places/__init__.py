"""Where a job is to run, and keep its state: what does not allow it is refused before it runs."""
