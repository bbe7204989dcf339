"""Flink's REST API for the jobs of this process, and the page that shows them."""
