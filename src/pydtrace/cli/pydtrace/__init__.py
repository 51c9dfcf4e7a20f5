"""The command `pydtrace`."""
