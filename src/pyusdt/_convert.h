/* Python objects as the strings of an event.
 *
 * In:      any object, or NULL (absent).
 * Out:     address and length of its text: bytes up to the first NUL, at most PYUSDT_MAX_STRING of them, cut on a
 *          character boundary, with a NUL behind them, all in resident memory.
 * Always:  no exception is left pending and none that was pending is seen: the caller has put it aside.  What can not
 *          be converted is absent. */
#ifndef PYUSDT_CONVERT_H
#define PYUSDT_CONVERT_H

#include <Python.h>
#include <stdint.h>

#include "pyusdt.h"

/* A text before it is put into form: where the application's code runs (str(), a buffer's export), if any does. */
struct pyusdt_source {
    PyObject *text; /* str or bytes, or NULL */
    PyObject *held; /* the same where it belongs to the source, else NULL */
    Py_buffer view; /* view.obj is NULL where the text is none of the above */
};

/* str and bytes-like objects are taken as they are, None is absent, any other object is str(object).  The object must
 * live until the source is closed. */
void pyusdt_source_open(struct pyusdt_source *source, PyObject *object);
void pyusdt_source_close(struct pyusdt_source *source);

/* A text in form.  Large, so none stands on the stack while code of the application runs, which may fire again. */
struct pyusdt_string {
    const char *address;                /* NULL: absent */
    uint32_t length;
    char buffer[PYUSDT_MAX_STRING + 1]; /* the text where no object has it as it is needed */
};

/* str in UTF-8 (what can not be encoded is ?), bytes as they are.  Lives as long as the source is open. */
void pyusdt_string_set(struct pyusdt_string *string, const struct pyusdt_source *source);

/* "<pid.tid>" of this thread, or "<pid.tid.name>" with the name of an asyncio task (a str, or NULL); absent if nobody
 * wants it. */
void pyusdt_string_set_who(struct pyusdt_string *string, int wanted, PyObject *task_name);

/* Drops the pending exception; a Ctrl-C that it stands for is raised again, outside of the probe. */
void pyusdt_swallow_exception(void);

#endif
