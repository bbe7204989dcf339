"""Sources of which the driver says, epoch by epoch, what workers read."""
