/*
 * Encodes Erlang terms as term arguments of an event (c/shared/term_format.h).
 *
 * - The result is at most PYUSDT_MAX_STRING bytes, and the work is bounded, however large the term
 *   is.
 * - Omitted parts are marked, so that a truncated term never looks complete. Omitted are parts
 *   behind the limits, integers of more than 64 bits, bit strings, and lists nested deeper than
 *   PYUSDT_TERM_DEPTH.
 * - A function is carried as its text.
 */
#ifndef PYUSDT_NIF_TERM_ENCODE_H
#define PYUSDT_NIF_TERM_ENCODE_H

#include <erl_nif.h>
#include <stdint.h>

#include "pyusdt.h"

#define PYUSDT_TERM_STEPS 8192 /* list cells that are looked at, at most */
#define PYUSDT_TERM_DEPTH 32   /* nested terms, at most */

#pragma GCC visibility push(hidden)

struct pyusdt_term {
    uint32_t length;
    uint8_t bytes[PYUSDT_MAX_STRING + 1]; /* a NUL behind them */
};

void pyusdt_term_encode(ErlNifEnv *env, struct pyusdt_term *to, ERL_NIF_TERM term);

/* The same, with the text <redacted> in the place of values whose keys are names of secrets: in maps, so
 * in Elixir's structs, too, and in pairs, as lists of properties have them. */
void pyusdt_term_encode_redacted(ErlNifEnv *env, struct pyusdt_term *to, ERL_NIF_TERM term);

#pragma GCC visibility pop

#endif
