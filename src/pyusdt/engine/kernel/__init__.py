"""The kernel engine: clauses become eBPF programs at uprobes, tracepoints and timers (docs/kernel.md).  engine.py first."""
