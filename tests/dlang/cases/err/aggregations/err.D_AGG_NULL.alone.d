BEGIN { @a[execname]; }
