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
#include <stdint.h>

/* From now on events have stacks, if this interpreter's frames can be read. */
void pyusdt_python_stack_start(void);

struct pyusdt_heap_frame;

/* The frames of the calling thread into `frames`, the innermost first: how many; *has_more: there are more than `most`.  No reference is
 * held, nothing is allocated.  -1: the thread does not hold the main interpreter's lock, or its frames cannot be read. */
int pyusdt_python_frames(struct pyusdt_heap_frame *frames, uint32_t most, int *has_more);

#endif
