/* Terms of any size, cut to what a text shows of them.
 *
 * In:      any term of a trace event.
 * Out:     the same, or one that has `...` where parts were left out: what is deeper or further than the limits, and
 *          integers of more than 64 bits.
 * Always:  the work is bounded, but for a binary that begins within a byte, of which the emulator makes a copy. The
 *          emulator's own printing is not bounded: it looks at the whole of a printable binary, and the digits of an
 *          integer of 100 kB take it minutes. */
#ifndef PYUSDT_NIF_VM_TRUNCATE_TERM_H
#define PYUSDT_NIF_VM_TRUNCATE_TERM_H

#include <erl_nif.h>

#pragma GCC visibility push(hidden)

ERL_NIF_TERM pyusdt_vm_truncate_term(ErlNifEnv *env, ERL_NIF_TERM term);

#pragma GCC visibility pop

#endif
