"""Keys: what may be one, its hash and its bytes, and the groups that keys are in; windows as values."""
