"""Streams that are cut into windows, and what is done with those."""
