/*
 * Variables of the Python functions that run on this thread, and the frames of these functions.
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

/* A function's frame, as the interpreter has it. */
struct pyusdt_frame;

/* The one that runs, and the one that has called it or resumes it; NULL: there is none. */
struct pyusdt_frame *pyusdt_innermost_frame(void);
struct pyusdt_frame *pyusdt_calling_frame(struct pyusdt_frame *frame);

/* Borrowed; NULL: it is no function of Python. */
PyCodeObject *pyusdt_frame_code(struct pyusdt_frame *frame);

/* Of its present instruction, in bytes. */
int pyusdt_frame_offset(struct pyusdt_frame *frame);

/* As pyusdt_visit_locals(); of a module or the body of a class, which have a dict instead, all that
 * are in it. */
void pyusdt_visit_variables(struct pyusdt_frame *frame, pyusdt_visitor visit, void *arg);

/* All names of variables that code has; without their values. */
void pyusdt_visit_variable_names(PyCodeObject *code, int (*visit)(void *arg, PyObject *name),
                                 void *arg);

/* A name of its module. */
PyObject *pyusdt_read_global(PyObject *name);

#endif

#pragma GCC visibility pop

#endif
