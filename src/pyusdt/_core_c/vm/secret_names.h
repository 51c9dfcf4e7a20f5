/*
 * Names whose values are not shown: those of passwords, tokens, keys, and those of PYUSDT_REDACT.
 *
 * The list and the rules are those of src/pydtrace/program/secret_names.py; tests/fetch compares
 * the two.
 */
#ifndef PYUSDT_CORE_SECRET_NAMES_H
#define PYUSDT_CORE_SECRET_NAMES_H

#include <stddef.h>

#define PYUSDT_SECRET_NAME 255u /* bytes of a name that are looked at */

#pragma GCC visibility push(hidden)

/* Whether PYUSDT_REDACT of this program, patterns with commas or blanks between them, has a name. */
int pyusdt_is_forbidden(const char *name, size_t length);

/* Whether a name, in UTF-8, is one that every program has for its secrets. */
int pyusdt_is_secret(const char *name, size_t length);

#pragma GCC visibility pop

#endif
