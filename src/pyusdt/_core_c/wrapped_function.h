/*
 * Functions with a probe around them: the result of @probe.wrap.
 *
 * - While the probe is off, a call costs the call of the function and one test.
 * - Attributes that are not set on the object are the function's, so inspect and asyncio treat it
 *   as the function.
 */
#ifndef PYUSDT_CORE_WRAPPED_FUNCTION_H
#define PYUSDT_CORE_WRAPPED_FUNCTION_H

#include <Python.h>

PyTypeObject *pyusdt_wrapped_type(void);

/* METH_VARARGS with a context as self: wrapped(probe, function, observed): calls function while
 * the probe is off, else observed. */
PyObject *pyusdt_wrapped_new(PyObject *context, PyObject *args);

/* METH_O: Probe.wrap. */
PyObject *pyusdt_probe_wrap(PyObject *probe, PyObject *function);

#endif
