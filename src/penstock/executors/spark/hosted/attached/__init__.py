"""Following jobs that run on a server, without their programs."""
