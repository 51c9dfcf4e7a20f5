"""The dtrace engine: the system's dtrace(1) runs the script, and its output is read (docs/internals/dtrace-engine.md).  engine.py first."""
