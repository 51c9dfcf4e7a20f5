/* Erlang terms as the strings of an event.
 *
 * In:      any term.
 * Out:     the bytes of an iolist up to its first NUL, at most PYUSDT_MAX_STRING of them, cut on a character boundary
 *          where the text is UTF-8, with a NUL behind them, in memory of the caller's that has been written.
 * Always:  the work is bounded, however long, deep or empty the list is: what lies behind the limits is not looked at.
 *          A term that is seen to be no iolist within them is absent, as in OTP. */
#ifndef PYUSDT_NIF_IOLIST_TEXT_H
#define PYUSDT_NIF_IOLIST_TEXT_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "pyusdt.h"

#define PYUSDT_TEXT_STEPS 8192 /* list cells that are looked at, at most */
#define PYUSDT_TEXT_DEPTH 1024 /* lists that are open at once, at most */

#pragma GCC visibility push(hidden)

struct pyusdt_iolist_text {
    const char *address; /* NULL: absent; else `bytes` */
    uint32_t length;
    char bytes[PYUSDT_MAX_STRING + 2]; /* one more than is shown, to know where to cut */
};

/* False, and the text is absent, if the term is no iolist. */
bool pyusdt_iolist_text_set(ErlNifEnv *env, struct pyusdt_iolist_text *text, ERL_NIF_TERM term);

#pragma GCC visibility pop

#endif
