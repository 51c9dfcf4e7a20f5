/*
 * Objects that no other thread changes while they are read.
 *
 * - With the GIL none does, and nothing here does anything.
 * - Without it, an object's own lock keeps other threads from changing it. What a locked object
 *   refers to stays alive, so no reference is counted, and no destructor can run.
 * - Nothing waits: a lock that another thread has is tried for less than a microsecond. The object
 *   is busy then, and what it has is absent.
 * - Locks are released in the reverse order, by the thread that has them, before the program goes on.
 */
#ifndef PYUSDT_CORE_OBJECT_LOCKS_H
#define PYUSDT_CORE_OBJECT_LOCKS_H

#include <Python.h>

#pragma GCC visibility push(hidden)

#ifdef Py_GIL_DISABLED

/* How many objects this thread has locked here. */
unsigned pyusdt_locked(void);

/* Until pyusdt_unlock_to() of a number that was before. 0: it is busy. */
int pyusdt_lock(PyObject *object);
void pyusdt_unlock_to(unsigned locked);

/* Whether something was busy for this thread, since it was asked the last time. */
int pyusdt_take_busy(void);

/* The same, and it is kept. */
int pyusdt_is_busy(void);

/* What is read without a lock has changed meanwhile. */
void pyusdt_set_busy(void);

#define PYUSDT_PER_THREAD __thread

#else

static inline unsigned pyusdt_locked(void)
{
    return 0;
}

static inline int pyusdt_lock(PyObject *object)
{
    (void)object;
    return 1;
}

static inline void pyusdt_unlock_to(unsigned locked)
{
    (void)locked;
}

static inline int pyusdt_take_busy(void)
{
    return 0;
}

static inline int pyusdt_is_busy(void)
{
    return 0;
}

#define PYUSDT_PER_THREAD /* the GIL's holder has it */

#endif

#pragma GCC visibility pop

#endif
