"""The embedded engine: shared memory between the traced process and the tracer."""
