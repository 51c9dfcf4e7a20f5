"""eBPF programs that walk native and Python stacks."""
