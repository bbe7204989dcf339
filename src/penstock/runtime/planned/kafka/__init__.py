"""Reading of Kafka's topics, and the client, which sinks use as well."""
