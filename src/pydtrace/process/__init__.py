"""What /proc says of a process, and the command that a session starts."""
