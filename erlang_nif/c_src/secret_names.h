/*
 * Names whose values are secrets: passwords, tokens, keys.
 *
 * - A name is split into words (`dbPassword`, `db_password`); one to three adjacent words decide.
 */
#ifndef PYUSDT_NIF_SECRET_NAMES_H
#define PYUSDT_NIF_SECRET_NAMES_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

bool pyusdt_is_secret_name(const char *name, size_t length);

/* secret_record(Name, Size, Positions): these elements of tuples of that name and size are secrets. */
ERL_NIF_TERM pyusdt_nif_secret_record(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* The secret elements of a tuple with this first element, as bits; element 1 is bit 0. */
uint64_t pyusdt_secret_elements(ERL_NIF_TERM name, int size);

/* Of an atom, a binary or a string of bytes, as a key; of anything else: not. */
bool pyusdt_is_secret_key(ErlNifEnv *env, ERL_NIF_TERM key);

#pragma GCC visibility pop

#endif
