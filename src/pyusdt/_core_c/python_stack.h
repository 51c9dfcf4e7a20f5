/*
 * The Python stack of the thread that fires a probe, for sessions that want it (include/pyusdt.h,
 * "stacks").
 *
 * It reads the interpreter's chain of frames, by the same table of offsets as the unwinder, and
 * gives a location and a line for each function, the innermost first.
 *
 * - The names of a function are written once while its code object lives, and are freed with it. A
 *   name is right or absent.
 * - A thread that does not hold the interpreter, and a thread of a sub-interpreter, has no frames.
 */
#ifndef PYUSDT_CORE_PYTHON_STACK_H
#define PYUSDT_CORE_PYTHON_STACK_H

#include <Python.h>

/* From now on events have stacks, if this interpreter's frames can be read. */
void pyusdt_python_stack_start(void);

#endif
