/*
 * Names whose values are not shown: those of passwords, tokens, keys, and those that the program has
 * redacted, by PYUSDT_REDACT or pyusdt.redact().
 *
 * The list and the rules are those of src/pydtrace/program/secret_names.py; tests/fetch compares
 * the two.
 */
#ifndef PYUSDT_CORE_SECRET_NAMES_H
#define PYUSDT_CORE_SECRET_NAMES_H

#include <stddef.h>
#include <stdint.h>

#define PYUSDT_SECRET_NAME 255u /* bytes of a name that are looked at */

#define PYUSDT_REDACTED_SIZE 4096u

/* What pyusdt.redact() was given: patterns behind commas. Its symbol is found from outside, by
 * pydtrace/remote_python/program_veto.py. */
extern char pyusdt_redacted_names[PYUSDT_REDACTED_SIZE];

#pragma GCC visibility push(hidden)

/* Adds patterns, with commas or blanks between them, for ever. 0, or -ENOSPC: there is no room, and
 * none was added. */
int pyusdt_redact(const char *patterns, size_t length);

/* How often some were added. */
uint32_t pyusdt_redactions(void);

/* Whether the program has redacted any names. */
int pyusdt_has_forbidden(void);

/* Whether the program has redacted a name. */
int pyusdt_is_forbidden(const char *name, size_t length);

/* Whether a name, in UTF-8, is one that every program has for its secrets. */
int pyusdt_is_secret(const char *name, size_t length);

#pragma GCC visibility pop

#endif
