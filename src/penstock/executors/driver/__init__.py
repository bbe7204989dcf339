"""What the driver does around epochs, whatever they run on."""
