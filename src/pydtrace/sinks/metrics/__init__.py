"""Aggregations as metrics for Prometheus."""
