"""What sinks for databases are made of: rows that are staged, and written together with their epoch's number."""
