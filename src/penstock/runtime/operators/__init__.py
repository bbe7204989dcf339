"""The operators, those of a kind in one file."""
