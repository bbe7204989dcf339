"""Measures where the time of tasks goes: a thread samples what they do while an epoch is profiled."""
