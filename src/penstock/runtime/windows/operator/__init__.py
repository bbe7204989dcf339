"""The operators of windows, and what they are put together of."""
