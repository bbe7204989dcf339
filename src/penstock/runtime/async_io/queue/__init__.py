"""The queue of records whose calls are under way."""
