"""Runs of a job on Spark: bounded or streaming, and again after a failure."""
