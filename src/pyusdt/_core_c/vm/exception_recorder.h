/*
 * Keeps the last distinct exceptions of this process in a file in memory, with the variables of the
 * functions that ran (PYUSDT_FLIGHT=exceptions; shared/exceptions_file.h).
 *
 * - Two exceptions are the same if they have the type, the place that raises and the place that called
 *   it in common. The same one again is counted, and its values are read again after a second.
 * - No code of the program runs (object_reads.h), and nothing of the program is kept alive.
 * - Reading values is limited: KEPT_BURST exceptions at once, and KEPT_RATE a second. What is beyond
 *   that is counted.
 * - Exceptions by which importlib looks for modules are not exceptions here.
 */
#ifndef PYUSDT_CORE_EXCEPTION_RECORDER_H
#define PYUSDT_CORE_EXCEPTION_RECORDER_H

#include <Python.h>

#pragma GCC visibility push(hidden)

/* tag_variable: a ContextVar. 0, or -1 with an exception: an OSError, or a RuntimeError for a CPython
 * whose values cannot be read. With the GIL, in the main interpreter. */
int pyusdt_exceptions_start(PyObject *tag_variable);

/* Whether it has begun. */
int pyusdt_exceptions_are_kept(void);

/* An exception that an instruction of this code has just raised, in the thread that runs. Leaves
 * exceptions as they are. */
void pyusdt_exceptions_keep(PyObject *exception, PyCodeObject *code, int offset);

#pragma GCC visibility pop

#endif
