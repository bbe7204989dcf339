"""The event loop that asynchronous functions run on, and the way back from it."""
