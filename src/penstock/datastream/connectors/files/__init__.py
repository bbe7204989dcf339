"""Files that streams are read from, and written to: how those are hidden, named and published."""
