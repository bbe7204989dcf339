"""How a job goes on: after a failure, from a checkpoint, with another parallelism."""
