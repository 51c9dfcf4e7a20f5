/*
 * Truncates a term of any size to the part that its text can show.
 *
 * - `...` replaces parts that are deeper or further than the limits, and integers of more than 64
 *   bits.
 * - The work is bounded, except for a binary that begins within a byte, which the emulator copies.
 *   The emulator's own printing is not bounded: it reads the whole of a printable binary, and the
 *   digits of an integer of 100 kB take it minutes.
 */
#ifndef PYUSDT_NIF_VM_TRUNCATE_TERM_H
#define PYUSDT_NIF_VM_TRUNCATE_TERM_H

#include <erl_nif.h>

#pragma GCC visibility push(hidden)

ERL_NIF_TERM pyusdt_vm_truncate_term(ErlNifEnv *env, ERL_NIF_TERM term);

#pragma GCC visibility pop

#endif
