"""State in memory, in Python's own dictionaries."""
