"""Which probes the kernel engine has, and where they are."""
