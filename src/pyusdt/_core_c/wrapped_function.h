/* Functions with a probe around them: what @probe.wrap makes.
 *
 * Always:  while the probe is off a call is the function's own call and one test; attributes that are not set on it are
 *          the function's, so inspect and asyncio take it for what it wraps. */
#ifndef PYUSDT_CORE_WRAPPED_FUNCTION_H
#define PYUSDT_CORE_WRAPPED_FUNCTION_H

#include <Python.h>

PyTypeObject *pyusdt_wrapped_type(void);

/* METH_VARARGS with a context as self: wrapped(probe, function, observed): calls function while the probe is off, else
 * observed. */
PyObject *pyusdt_wrapped_new(PyObject *context, PyObject *args);

/* METH_O: Probe.wrap. */
PyObject *pyusdt_probe_wrap(PyObject *probe, PyObject *function);

#endif
