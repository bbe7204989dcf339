"""The page of one job: its header, and a section for each question about it."""
