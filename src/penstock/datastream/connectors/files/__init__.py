"""Files that streams are written to: how they are hidden, named and published."""
