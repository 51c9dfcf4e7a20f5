"""Aggregations and records for OpenTelemetry receivers."""
