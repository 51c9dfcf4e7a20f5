"""What the HTTP servers of sinks share."""
