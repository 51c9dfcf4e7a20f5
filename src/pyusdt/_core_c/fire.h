/*
 * Fires one event of a user-trace probe, from Python's arguments to the probe site and the rings.
 *
 * - The result is True if the event was offered to a tracer, else False.
 * - Exceptions are raised in strict mode only. A pending exception stays as it is.
 * - Only arguments that a tracer reads are converted.
 */
#ifndef PYUSDT_CORE_FIRE_H
#define PYUSDT_CORE_FIRE_H

#include <Python.h>

#include "_core_c/event_context.h"
#include "target/sites.h"

/* pyusdt.strict(): types are checked, on or off. One flag for the process: any thread may change
 * it while others fire. */
extern int pyusdt_strict_flag __attribute__((visibility("hidden")));

static inline int pyusdt_is_strict(void)
{
    return __atomic_load_n(&pyusdt_strict_flag, __ATOMIC_RELAXED);
}

/* Returns the former value. */
static inline int pyusdt_set_strict(int on)
{
    return __atomic_exchange_n(&pyusdt_strict_flag, on, __ATOMIC_RELAXED);
}

/* The test before everything else: is there anything to do for a call of this probe? */
static inline int pyusdt_is_call_needed(unsigned probe)
{
    return __builtin_expect(pyusdt_enabled(probe) || pyusdt_is_strict(), 0);
}

/* The general and the numbered probes, with the arguments of p(): up to four integers, then up to
 * four strings. None counts as the kind of its neighbours. A fifth string is dropped, or an
 * exception in strict mode. */
PyObject *pyusdt_fire_arguments(struct pyusdt_context *context, unsigned probe,
                                PyObject *const *args, Py_ssize_t nargs);

/* The same with each value in its place. tag: NULL for the context's. values: NULL for absent
 * ones. */
PyObject *pyusdt_fire_values(struct pyusdt_context *context, unsigned probe, PyObject *tag,
                             PyObject *const values[PYUSDT_VALUES]);

/* user_trace-s1. */
PyObject *pyusdt_fire_message(PyObject *message);

#endif
