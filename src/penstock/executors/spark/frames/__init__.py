"""DataFrames: that of an epoch, and those that users get and give."""
