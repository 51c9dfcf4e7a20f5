/*
 * What an event carries besides its arguments: the tag, and the asyncio task or greenlet, of one
 * interpreter.
 *
 * - Results are strong references or NULL. No exception is left pending.
 * - asyncio and greenlet are looked up among the loaded modules, never imported.
 */
#ifndef PYUSDT_CORE_EVENT_CONTEXT_H
#define PYUSDT_CORE_EVENT_CONTEXT_H

#include <Python.h>

/* One interpreter's; every callable of _core_c/module_methods.c has it as its self. */
struct pyusdt_context {
    PyObject_HEAD PyObject *tag_variable; /* contextvars.ContextVar: bytes or None */
    PyTypeObject *probe_type;             /* the result of probe() */
    PyTypeObject *wrapped_type;           /* the result of Probe.wrap() */
    PyObject *get_running_loop; /* of asyncio, once it is loaded; else NULL, as the next */
    PyObject *current_task;
    PyObject *current_greenlet; /* greenlet.getcurrent, once it is loaded; else NULL */
    PyObject *modules; /* the dict of loaded modules, the same as long as the interpreter lives */
    /* how many modules were loaded when asyncio or greenlet was not among them */
    Py_ssize_t modules_seen;
    PyObject *events_name, *tasks_name, *get_name, *greenlet_name; /* interned */
    PyObject *task_numbers;                                        /* dict: task_numbers.c */
};

/* The asyncio task or the greenlet that fires; both NULL: the thread itself does. */
struct pyusdt_task {
    PyObject *number; /* bytes: digits */
    PyObject *name;   /* the result of its get_name(), or a greenlet's `name`; or NULL */
};

/* The type of contexts; new reference, or NULL with an exception. */
PyTypeObject *pyusdt_context_type(void);

struct pyusdt_context *pyusdt_context_new(PyTypeObject *type);

PyObject *pyusdt_context_tag(struct pyusdt_context *context);
void pyusdt_context_task(struct pyusdt_context *context, struct pyusdt_task *task);
/* New reference to an attribute of a module, if it is loaded, or NULL; no exception is left. */
PyObject *pyusdt_loaded_attribute(PyObject *module_name, const char *attribute);
void pyusdt_task_release(struct pyusdt_task *task);

#endif
