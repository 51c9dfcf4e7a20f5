/*
 * Hooks of CPython's allocators that sample blocks by bytes, for `pyusdt heap`.
 *
 * - The domains OBJ and MEM are hooked, whose callers hold the interpreter's lock; never RAW.
 * - A hook allocates nothing in Python, runs no code of the program, and adds no head to a block, so
 *   blocks from before and after pass through unharmed.
 * - The hooks of other tools stay. If a tool has been set after these, they stay as a pass-through.
 * - It ends by itself `seconds` after the last heap_keep(): a tracer may be killed.
 * - Builds without the lock are refused. Threads of other interpreters are not sampled,
 *   and where these may have locks of their own (3.12), it does not begin beside one.
 */
#ifndef PYUSDT_CORE_HEAP_HOOKS_H
#define PYUSDT_CORE_HEAP_HOOKS_H

#include <Python.h>

/* heap_start(), heap_keep() and heap_stop() of the module. */
int pyusdt_heap_add_methods(PyObject *module);

int pyusdt_heap_is_on(void);

#endif
