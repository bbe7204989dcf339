"""The window operator, and what it is put together of: sets of windows, their contents, calls of functions."""
