"""Streams: what is done with their records, and how they are brought together."""
