/*
 * The names of the thread and of the asyncio task that run, without code of the program
 * (object_reads.h).
 */
#ifndef PYUSDT_CORE_RUNNING_TASK_H
#define PYUSDT_CORE_RUNNING_TASK_H

#include "_core_c/vm/object_reads.h"

#pragma GCC visibility push(hidden)

#if PYUSDT_READS_OBJECTS

/* 0, or -1 with an exception. */
int pyusdt_running_start(void);

/* Borrowed; NULL: `threading` does not know the thread. Without the GIL until pyusdt_unlock_to(). */
PyObject *pyusdt_running_thread_name(void);

/* A new reference, or NULL: there is no task, or its class has a get_name() of its own. */
PyObject *pyusdt_running_task_name(void);

#endif

#pragma GCC visibility pop

#endif
