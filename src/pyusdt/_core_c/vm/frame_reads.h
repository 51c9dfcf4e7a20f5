/*
 * Variables of the Python function that runs on this thread.
 *
 * - Rules are those of object_reads.h: no code of the program runs, borrowed, NULL if there is
 *   none or it is busy.
 * - name: an interned text.
 */
#ifndef PYUSDT_CORE_FRAME_READS_H
#define PYUSDT_CORE_FRAME_READS_H

#include "_core_c/vm/object_reads.h"

#pragma GCC visibility push(hidden)

#if PYUSDT_READS_OBJECTS

/* An argument, a local variable, or one of an outer function. */
PyObject *pyusdt_read_local(PyObject *name);

/* All that have a value, arguments first. */
void pyusdt_visit_locals(pyusdt_visitor visit, void *arg);

/* All names of variables that code has; without their values. */
void pyusdt_visit_variable_names(PyCodeObject *code, int (*visit)(void *arg, PyObject *name),
                                 void *arg);

/* A name of its module. */
PyObject *pyusdt_read_global(PyObject *name);

#endif

#pragma GCC visibility pop

#endif
