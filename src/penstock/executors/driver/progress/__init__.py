"""How people hear of a job while it runs: in a line of the terminal or of a notebook, or in the log."""
