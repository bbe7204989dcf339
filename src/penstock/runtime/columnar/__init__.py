"""Windows over columns: records are aggregated before they are records."""
