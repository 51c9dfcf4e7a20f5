/* The numbers of asyncio tasks and greenlets, by which those of one name are told apart.
 *
 * In:      a task or a greenlet, as it fires.
 * Out:     its number in decimal digits, from its first firing that somebody reads to its end.
 * Always:  no number is given twice, be it in a process or to a later process that gets its id: each is at least the time.
 *          Nothing is kept of a task that has ended, and the task itself is not changed. */
#ifndef PYUSDT_TASKS_H
#define PYUSDT_TASKS_H

#include "native/context.h"

/* New reference to bytes, or NULL with an exception. */
PyObject *pyusdt_task_number(struct pyusdt_context *context, PyObject *task);

/* Fills in the number and the name of a greenlet.  The first greenlet of a thread is the thread itself: nothing is filled in.
 * An exception may be pending. */
void pyusdt_greenlet_number(struct pyusdt_context *context, PyObject *greenlet, struct pyusdt_task *task);

#endif
