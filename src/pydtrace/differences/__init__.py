"""What differs between two profiles, or between the aggregations of two runs, and what chance explains of it."""
