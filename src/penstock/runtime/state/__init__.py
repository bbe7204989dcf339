"""Keyed state: what an operator remembers for each key."""
