"""Records as slices on a time line."""
