"""State in RocksDB."""
