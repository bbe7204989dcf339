"""Streaming jobs on Spark Connect: the driver's side runs in a Python process of the server, and the client follows it."""
