"""Runs of a job on Spark: in epochs that the driver or a stream begins, and again after a failure."""
