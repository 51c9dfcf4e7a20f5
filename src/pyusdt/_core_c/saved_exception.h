/* The exception that is pending while a probe fires (there is one in an except clause of C code, say): put aside before
 * anything of Python's is called for the event, and back when it is done.  Where there is none, nothing has to be put
 * back: what is called for the event leaves none behind. */
#ifndef PYUSDT_CORE_SAVED_EXCEPTION_H
#define PYUSDT_CORE_SAVED_EXCEPTION_H

#include <Python.h>

struct pyusdt_pending {
    int there;
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *exception;
#else
    PyObject *type, *value, *traceback;
#endif
};

static inline void pyusdt_pending_save(struct pyusdt_pending *pending)
{
    pending->there = PyErr_Occurred() != NULL;
    if (!pending->there)
        return;
#if PY_VERSION_HEX >= 0x030c0000
    pending->exception = PyErr_GetRaisedException();
#else
    PyErr_Fetch(&pending->type, &pending->value, &pending->traceback);
#endif
}

static inline void pyusdt_pending_restore(struct pyusdt_pending *pending)
{
    if (!pending->there)
        return;
#if PY_VERSION_HEX >= 0x030c0000
    PyErr_SetRaisedException(pending->exception);
#else
    PyErr_Restore(pending->type, pending->value, pending->traceback);
#endif
}

#endif
