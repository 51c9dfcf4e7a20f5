/*
 * A whole value as text, much as repr() has it, without the program's code (object_reads.h).
 *
 * - Limited: levels, items, characters of a text, bytes of all. "…" is where something was cut.
 * - A value with the name of a secret (secret_names.h) is <redacted>.
 */
#ifndef PYUSDT_CORE_VALUE_TEXT_H
#define PYUSDT_CORE_VALUE_TEXT_H

#include "_core_c/vm/object_reads.h"

#define PYUSDT_TEXT_DEPTH 3 /* levels of values in values */
#define PYUSDT_TEXT_ITEMS 10
#define PYUSDT_TEXT_CHARACTERS 120

#pragma GCC visibility push(hidden)

#if PYUSDT_READS_OBJECTS

/* The bytes of the text, at most `room` of at least 16; with_secrets: only PYUSDT_REDACT hides.
 * *is_busy: something in it is <busy> (object_locks.h). */
uint32_t pyusdt_write_value(PyObject *value, int with_secrets, char *text, uint32_t room,
                            int *is_busy);

/* The same of what has this name: <redacted> if that is the name of a secret. */
uint32_t pyusdt_write_named(PyObject *name, PyObject *value, char *text, uint32_t room,
                            int *is_busy);

/* A text as it is, with "?" for lone surrogates and control characters other than line feeds and
 * tabulators. */
uint32_t pyusdt_write_text(PyObject *value, char *text, uint32_t room);

/* The same of all variables of the function that runs: `name=value, …`. */
uint32_t pyusdt_write_locals(int with_secrets, char *text, uint32_t room, int *is_busy);

#endif

#pragma GCC visibility pop

#endif
