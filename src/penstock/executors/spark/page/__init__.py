"""What Spark's own page shows of a job: names, and what runs."""
