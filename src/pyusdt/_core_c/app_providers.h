/*
 * Probes of application providers: from Python's arguments to the probe site and the rings.
 *
 * - Each argument is converted to the type that define() was given for it.
 * - As for the user-trace probes (fire.h), exceptions are raised in strict mode only, and unread
 *   arguments are not converted.
 */
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

/* METH_VARARGS with a context as self: define(provider, [(name, bytes of PYUSDT_* types, names
 * of the arguments: str or None)]) -> (probes, path, why). */
PyObject *pyusdt_app_provider_define(PyObject *context, PyObject *args);

/* METH_VARARGS: check_provider(name) -> None, or ValueError. */
PyObject *pyusdt_app_provider_check(PyObject *context, PyObject *args);

#endif
