"""Rows, and how values are read out of them."""
