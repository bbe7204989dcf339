"""Reading of Kafka's topics."""
