/*
 * Saves the exception that is pending while a probe fires (in an except clause of C code, for
 * example), and restores it afterwards.
 *
 * Without a pending exception there is nothing to restore, since the code that is called for an
 * event leaves none behind.
 */
#ifndef PYUSDT_CORE_SAVED_EXCEPTION_H
#define PYUSDT_CORE_SAVED_EXCEPTION_H

#include <Python.h>

struct pyusdt_saved_exception {
    int is_set;
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *exception;
#else
    PyObject *type, *value, *traceback;
#endif
};

static inline void pyusdt_exception_save(struct pyusdt_saved_exception *saved)
{
    saved->is_set = PyErr_Occurred() != NULL;
    if (!saved->is_set)
        return;
#if PY_VERSION_HEX >= 0x030c0000
    saved->exception = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&saved->type, &saved->value, &saved->traceback);
#endif
}

static inline void pyusdt_exception_restore(struct pyusdt_saved_exception *saved)
{
    if (!saved->is_set)
        return;
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(saved->exception);
#else
    PyErr_Restore(saved->type, saved->value, saved->traceback);
#endif
}

#endif
