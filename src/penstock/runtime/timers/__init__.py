"""Timers: their queues, the services that register and fire them, and processing time."""
