"""Tasks: chains of operators in a process, epoch by epoch."""
