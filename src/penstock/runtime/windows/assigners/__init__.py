"""Assigners: which windows a record belongs to."""
