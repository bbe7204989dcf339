"""What windows are made of: assigners, triggers, evictors, and the operator that puts these together."""
