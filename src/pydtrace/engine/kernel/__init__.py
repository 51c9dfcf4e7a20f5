"""The kernel engine: clauses become eBPF programs at uprobes, tracepoints and timers
(docs/internals/kernel-engine.md).

Begin with engine.py.
"""
