/*
 * Probe objects: `probe = pyusdt.probe("user_trace-i4s4")`, `if probe: probe(1, 2, "a")`,
 * `probe.lazy(function)`.
 *
 * - The truth value of a probe is its is-enabled test, a slot of the C type. CPython has no cheaper
 *   guard.
 */
#ifndef PYUSDT_CORE_PROBE_OBJECT_H
#define PYUSDT_CORE_PROBE_OBJECT_H

#include <Python.h>

#include "_core_c/event_context.h"

PyTypeObject *pyusdt_probe_type(void);

/* METH_O with a context as self: the probe object of a name, D's or the note's; ValueError for
 * one that is none. */
PyObject *pyusdt_probe_new(PyObject *context, PyObject *name);

/* The is-enabled test of a Probe object. */
int pyusdt_probe_enabled(PyObject *probe);

/* The object of an application provider's probe, which takes ownership of `app`, also if it fails
 * (NULL with an exception). */
struct pyusdt_app_probe;
PyObject *pyusdt_probe_from_app(struct pyusdt_context *context, struct pyusdt_app_probe *app);

#endif
