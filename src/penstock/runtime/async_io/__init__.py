"""Asynchronous calls: queues of records under way, the event loop, and what governs the calls."""
