/*
 * Steps from an object to another that it has: attributes, items, keys.  No code of the program runs.
 *
 * - No tp_getattro, no descriptor's __get__, no __eq__ and no __hash__ is called. No __dict__ is
 *   made, no reference count changes for longer than the call, nothing is allocated.
 * - Dicts are searched by a probe sequence of our own, which compares exact texts and ints only, so
 *   a key's __eq__ cannot be called.
 * - What is returned is borrowed; NULL: there is none, and no exception is set.
 * - With the GIL; without it what is returned is of an object that is locked (object_locks.h), and
 *   NULL is also what is busy.
 *
 * CPython 3.10 to 3.15, and from 3.13 on without the GIL.
 */
#ifndef PYUSDT_CORE_OBJECT_READS_H
#define PYUSDT_CORE_OBJECT_READS_H

#include <Python.h>

#include <stdint.h>

#include "_core_c/vm/object_locks.h"

#if PY_VERSION_HEX < 0x03100000
#define PYUSDT_READS_OBJECTS 1
#else
#define PYUSDT_READS_OBJECTS 0
#endif

#define PYUSDT_READ_VISITS 4096 /* entries of a dict that are looked at */
#define PYUSDT_TYPE_NAME 512u   /* bytes that are enough for the names of types */

#pragma GCC visibility push(hidden)

#if PYUSDT_READS_OBJECTS

/* The raw value of an instance, or the plain value of its class. name: an interned text with its
 * hash; also below. A property is none. */
PyObject *pyusdt_read_attribute(PyObject *object, PyObject *name);

/* 0: enough. */
typedef int (*pyusdt_visitor)(void *arg, PyObject *name, PyObject *value);

/* The values that an instance stores: in slots, then in its dict or in the place of one. 0: some are
 * busy. */
int pyusdt_visit_attributes(PyObject *object, pyusdt_visitor visit, void *arg);

/* The keys and values of a dict. 0: it is busy. */
int pyusdt_visit_items(PyObject *dict, pyusdt_visitor visit, void *arg);

/* Of a list or a tuple, from the end if negative; of a dict the value of an int. */
PyObject *pyusdt_read_index(PyObject *object, int64_t number);

/* The name of a field of a named tuple; NULL: it is none, or has no such field. */
PyObject *pyusdt_read_field_name(PyObject *tuple, Py_ssize_t index);

/* The value of a text in a dict, or in the storage of a subclass's instance. */
PyObject *pyusdt_read_key(PyObject *object, PyObject *name);

/* Sets *out for an int, also of a subclass. 0: it has more than 64 bits, and *out is the nearest. */
int pyusdt_read_int(PyObject *value, int64_t *out);

/* The length of a str, bytes, list, tuple, dict or set; -1: it has none. */
Py_ssize_t pyusdt_read_length(PyObject *value);

/* The name of a type: its bytes, at most `room`; 0: it is busy. */
size_t pyusdt_read_type_name(PyTypeObject *type, char *name, size_t room);

/* What two texts have, if both are exact. */
int pyusdt_is_same_text(PyObject *one, PyObject *other);

#endif

#pragma GCC visibility pop

#endif
