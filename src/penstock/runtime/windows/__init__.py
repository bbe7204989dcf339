"""What windows are made of: assigners, triggers and evictors."""
