"""Reporters of metrics: what takes them to Prometheus, OpenTelemetry, StatsD and the log, and how they are set up."""
