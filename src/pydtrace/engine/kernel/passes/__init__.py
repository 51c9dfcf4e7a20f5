"""Code that the kernel engine adds to a clause, or takes out of it, before it is loaded."""
