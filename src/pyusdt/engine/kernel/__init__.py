"""The kernel engine: clauses become eBPF programs at uprobes, tracepoints and timers (docs/guide/kernel.md).  engine.py first."""
