"""The operators and everything they stand on. Knows nothing of Spark."""
