/* The Python stack of the thread that fires a probe, for the sessions that want it (include/pyusdt.h, "stacks").
 *
 * In:      the interpreter's own chain of frames, by the one table of its offsets (pystack/cpython_offsets.h).
 * Out:     for each function its place and line, the innermost first.
 * Always:  a function's names are written once, while its code lives, and what is remembered of code is freed with it: a name is
 *          right, or absent.  A thread that does not hold the interpreter, and one of a sub-interpreter, has no frames. */
#ifndef PYUSDT_CORE_PYTHON_STACK_H
#define PYUSDT_CORE_PYTHON_STACK_H

#include <Python.h>

/* From now on events have stacks, where this interpreter is one that can be walked. */
void pyusdt_python_stack_start(void);

#endif
