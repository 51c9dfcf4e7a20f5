"""The arithmetic of aggregation values."""
