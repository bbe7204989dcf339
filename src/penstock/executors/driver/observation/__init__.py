"""What the driver notes of a job while it runs, and the picture it makes of that when somebody asks."""
