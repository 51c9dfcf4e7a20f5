/* Probes of the application's own providers: from Python's arguments to the site and the rings.
 *
 * In:      what define() was given: the provider's name, each probe's name and the types of its arguments.
 * Out:     an event a call, its arguments converted to those types, each in its own place.
 * Always:  as for the user-trace probes (_core_c/fire.h): nothing is raised but in strict mode, nothing converted unread. */
#ifndef PYUSDT_CORE_APP_PROVIDERS_H
#define PYUSDT_CORE_APP_PROVIDERS_H

#include <Python.h>

#include "pyusdt.h"

/* One probe of one; shared by the Python objects that stand for it. */
struct pyusdt_app_probe {
    PyObject *provider, *name, *path; /* path: str or None */
    PyObject *names;                  /* a tuple, of the arguments: str or None */
    struct pyusdt_probe_site site;
    unsigned nargs;
    uint8_t type[PYUSDT_MAX_ARGS];
};

void pyusdt_app_probe_free(struct pyusdt_app_probe *app);

/* At most own->nargs arguments; those that are not given are absent. */
PyObject *pyusdt_app_probe_fire(const struct pyusdt_app_probe *app, PyObject *const *args,
                                Py_ssize_t nargs);

/* METH_VARARGS with a context as self: define(provider, [(name, bytes of PYUSDT_* types, names of the arguments: str or None)]) -> (probes, path, why). */
PyObject *pyusdt_app_provider_define(PyObject *context, PyObject *args);

/* METH_VARARGS: check_provider(name) -> None, or ValueError. */
PyObject *pyusdt_app_provider_check(PyObject *context, PyObject *args);

#endif
