"""Topics of Kafka that Spark's own connector reads, and the package it is in."""
