/*
 * Converts any Python object, or NULL (absent), to a string of an event.
 *
 * - The result is the text up to its first NUL, at most PYUSDT_MAX_STRING bytes, truncated on a
 *   character boundary and followed by a NUL, in resident memory.
 * - The caller has saved a pending exception. None is left pending.
 * - An object that cannot be converted is absent.
 */
#ifndef PYUSDT_CORE_CONVERT_H
#define PYUSDT_CORE_CONVERT_H

#include <Python.h>
#include <stdint.h>
#include <string.h>
#if PY_VERSION_HEX < 0x030b0000
#include <longintrepr.h>
#endif

#include "_core_c/event_context.h"
#include "pyusdt.h"

/* An int modulo 2^64. Most are small, and read here: CPython's function takes many times as
 * long. */
static inline uint64_t pyusdt_integer_modulo_64(PyObject *number)
{
#if PY_VERSION_HEX >= 0x030c0000
    if (PyUnstable_Long_IsCompact((PyLongObject *)number))
        return (uint64_t)PyUnstable_Long_CompactValue((PyLongObject *)number);
#else
    if (Py_SIZE(number) >= 0 && Py_SIZE(number) <= 1)
        return Py_SIZE(number) == 0 ? 0 : ((PyLongObject *)number)->ob_digit[0];
#endif
    return PyLong_AsUnsignedLongLongMask(number);
}

/* The text that an object has as it is needed: an ASCII str and bytes, if not too long; NULL and
 * None are absent. No code of the application's runs, and the text lives as long as the object.
 * 0: anything else. */
static inline int pyusdt_string_set_plain(PyObject *object, uint64_t *address, uint32_t *length)
{
    const char *text;
    Py_ssize_t size;

    if (object == NULL || object == Py_None) {
        *address = 0;
        *length = 0;
        return 1;
    }
    if (PyUnicode_Check(object) && PyUnicode_IS_COMPACT_ASCII(object)) {
        text = (const char *)PyUnicode_DATA(object);
        size = PyUnicode_GET_LENGTH(object);
    } else if (PyBytes_Check(object)) {
        text = PyBytes_AS_STRING(object);
        size = PyBytes_GET_SIZE(object);
    } else {
        return 0;
    }
    if (size > PYUSDT_MAX_STRING)
        return 0;
    *length = (uint32_t)strnlen(text, (size_t)size);
    /* strnlen() has touched all but the NUL, which may begin a page of its own */
    (void)*(const volatile char *)(text + *length);
    *address = (uintptr_t)text;
    return 1;
}

/* A text before its conversion: if any code of the application runs (str(), a buffer's export), it
 * runs here. */
struct pyusdt_text_source {
    PyObject *text; /* str or bytes, or NULL */
    PyObject *held; /* the same if it belongs to the source, else NULL */
    Py_buffer view; /* view.obj is NULL if the text is none of the above */
};

/* str and bytes-like objects are taken as they are, None is absent, any other object is
 * str(object). The object must live until the source is closed. */
void pyusdt_text_source_open(struct pyusdt_text_source *source, PyObject *object);
void pyusdt_text_source_close(struct pyusdt_text_source *source);

/* A text in form. It is large, so none is on the stack while code of the application runs, which
 * may fire again. */
struct pyusdt_string {
    const char *address; /* NULL: absent */
    uint32_t length;
    char buffer[PYUSDT_MAX_STRING + 1]; /* the text, if no object has it in the needed form */
};

/* str in UTF-8 (characters that cannot be encoded are ?), bytes as they are. Lives as long as the
 * source is open. */
void pyusdt_string_set(struct pyusdt_string *string, const struct pyusdt_text_source *source);

/* "<pid.tid>" of this thread, or "<pid.tid.number.name>" of an asyncio task; absent if no tracer
 * wants it. */
void pyusdt_string_set_proc(struct pyusdt_string *string, int wanted,
                            const struct pyusdt_task *task);

/* Drops the pending exception; a KeyboardInterrupt is raised again, outside of the probe. */
void pyusdt_swallow_exception(void);

#endif
