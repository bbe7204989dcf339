"""The exchange: what goes from task to task, how it gets there, and in what order it is read."""
