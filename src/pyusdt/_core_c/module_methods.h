/*
 * The module's functions that cost almost nothing while a probe is off: p, pn, the user_trace
 * functions, probe().
 *
 * They are written in C, because a Cython function with optional arguments costs several times an
 * empty builtin. While the probe is off they count the arguments and load a semaphore, an enable
 * word and the strict flag.
 */
#ifndef PYUSDT_CORE_MODULE_METHODS_H
#define PYUSDT_CORE_MODULE_METHODS_H

#include <Python.h>

/* Adds p, pn, user_trace_s1, user_trace_i4s4, user_trace_n, probe, Probe, the tags' functions
 * and tag_variable to the module. 0, or -1 with an exception. */
int pyusdt_module_add_methods(PyObject *module);

/* Makes the process traceable: the probe table under the module's file name.  0 or -errno. */
int pyusdt_module_publish(const char *module_name);

/* 1 if this build has USDT sites, else 0. */
int pyusdt_module_has_sites(void);

#endif
