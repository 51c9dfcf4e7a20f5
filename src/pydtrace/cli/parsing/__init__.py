"""The command line of pydtrace, parsed."""
