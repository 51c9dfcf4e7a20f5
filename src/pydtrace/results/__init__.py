"""Records and aggregations as Python objects, tables and pictures."""
