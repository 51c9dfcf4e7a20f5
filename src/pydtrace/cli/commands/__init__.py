"""The commands of `pyusdt`, one file each."""
