"""pydtrace --serve: what runs on each host for a coordinator."""
