"""What functions log: whose it is, and how it gets from the process of a task to the driver."""
