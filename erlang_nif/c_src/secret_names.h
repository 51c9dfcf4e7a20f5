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

#pragma GCC visibility push(hidden)

bool pyusdt_is_secret_name(const char *name, size_t length);

/* Of an atom, a binary or a string of bytes, as a key; of anything else: not. */
bool pyusdt_is_secret_key(ErlNifEnv *env, ERL_NIF_TERM key);

#pragma GCC visibility pop

#endif
