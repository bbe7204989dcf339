"""What a job says of itself while it runs: to listeners, in the terminal, in numbers."""
