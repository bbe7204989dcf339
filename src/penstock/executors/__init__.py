"""Executors: they run compiled programs. One is in this process, the other is Spark."""
