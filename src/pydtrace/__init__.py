"""The tracer: D compiler, engines, sinks, and the commands `pydtrace` and `pyusdt`.  Traced programs import `pyusdt` only."""
