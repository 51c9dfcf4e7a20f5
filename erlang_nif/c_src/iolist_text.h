/*
 * Converts an iolist to a string of an event.
 *
 * - The result is the bytes up to the first NUL, at most PYUSDT_MAX_STRING, truncated on a
 *   character boundary if the text is UTF-8, and followed by a NUL, in the caller's written memory.
 * - The work is bounded, however long, deep or empty the list is. Parts behind the limits are not
 *   read.
 * - A term that is found to be no iolist within the limits is absent, as in OTP.
 */
#ifndef PYUSDT_NIF_IOLIST_TEXT_H
#define PYUSDT_NIF_IOLIST_TEXT_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "pyusdt.h"

#define PYUSDT_TEXT_STEPS 8192 /* list cells that are read at most */
#define PYUSDT_TEXT_DEPTH 1024 /* nested lists, at most */

#pragma GCC visibility push(hidden)

struct pyusdt_iolist_text {
    const char *address; /* NULL: absent; else `bytes` */
    uint32_t length;
    char bytes[PYUSDT_MAX_STRING + 2]; /* one more than fits, to know where to truncate */
};

/* False, and the text is absent, if the term is no iolist. */
bool pyusdt_iolist_text_set(ErlNifEnv *env, struct pyusdt_iolist_text *text, ERL_NIF_TERM term);

#pragma GCC visibility pop

#endif
