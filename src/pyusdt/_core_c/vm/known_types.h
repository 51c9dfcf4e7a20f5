/*
 * Values of types of the standard library and of numpy as text, much as repr() has them.
 *
 * - Rules are those of object_reads.h: no code of the program runs. A type's layout in C is used only
 *   if no program can make such a type, and if its sizes are those of that layout.
 * - A class of Python (UUID, Path) is known by its module and name; its attributes are read as those
 *   of any other instance.
 */
#ifndef PYUSDT_CORE_KNOWN_TYPES_H
#define PYUSDT_CORE_KNOWN_TYPES_H

#include "_core_c/vm/object_reads.h"

#define PYUSDT_KNOWN_TEXT 512u
#define PYUSDT_KNOWN_DIGITS 120 /* of a number that are shown; of a longer one how many there are */

#pragma GCC visibility push(hidden)

#if PYUSDT_READS_OBJECTS

/* Types that no program can make another of. */
int pyusdt_is_of_python(PyTypeObject *type);

/* An int of any size: in decimal, or how many bits it has. Returns the bytes. */
size_t pyusdt_write_int(PyObject *value, char *text, size_t room);

/* Returns the bytes of a value of a known type of C, less than room; 0: it is of none. room: at least
 * PYUSDT_KNOWN_TEXT. *zone: the time zone that belongs behind the text, before a ")", or NULL. */
size_t pyusdt_write_known(PyObject *value, char *text, size_t room, PyObject **zone);

/* The same of a UUID. 0: it is none, or the program redacts its int. */
size_t pyusdt_write_uuid(PyObject *value, char *text, size_t room);

/* The parts of a path of pathlib, of which the last that begins with "/" is the first; *parts: a
 * list or one text. 0: it is none, or the program redacts them. */
int pyusdt_read_path(PyObject *value, PyObject **parts);

/* The name and value of a member of an enumeration. 0: it is none, or the program redacts them. */
int pyusdt_read_enum(PyObject *value, PyObject **name, PyObject **member);

#endif

#pragma GCC visibility pop

#endif
