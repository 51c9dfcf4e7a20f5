/*
 * The functions of trace events, {Module, Function, Arguments or arity}: their texts m:f/a, and
 * which sessions want a probe there.
 *
 * - Each scheduler has a cache, so the same function costs one comparison. A cached answer belongs
 *   to one generation of the core's patterns, so it is right whatever tracers do.
 */
#ifndef PYUSDT_NIF_VM_MFA_H
#define PYUSDT_NIF_VM_MFA_H

#include <erl_nif.h>
#include <stdbool.h>
#include <stdint.h>

#include "pyusdt.h"

#pragma GCC visibility push(hidden)

/* The location and demand of a probe at its function. */
enum pyusdt_vm_event_side { PYUSDT_VM_ENTRY, PYUSDT_VM_RETURN, PYUSDT_VM_GLOBAL, PYUSDT_VM_SIDES };

enum { PYUSDT_VM_MFA_TEXT = 256, PYUSDT_VM_NAME = 256 };

struct pyusdt_vm_mfa {
    ERL_NIF_TERM module, function;
    unsigned arity;
    uint32_t length; /* of the text; 0: the entry is empty */
    char text[PYUSDT_VM_MFA_TEXT];
    uint32_t place;      /* its number; 0: not asked for yet */
    uint32_t generation; /* of the sessions that are known */
    unsigned known;      /* bit: side */
    uint64_t sessions[PYUSDT_VM_SIDES];
};

/* Of this scheduler, until its next call; NULL: another term. */
struct pyusdt_vm_mfa *pyusdt_vm_find_mfa(ErlNifEnv *env, ERL_NIF_TERM term);

/* The sessions that want the probe, which is the function's on that side, there; and the place. */
uint64_t pyusdt_vm_mfa_sessions(struct pyusdt_vm_mfa *mfa, enum pyusdt_vm_event_side side,
                                unsigned probe);
uint32_t pyusdt_vm_mfa_place(struct pyusdt_vm_mfa *mfa);

/* An atom as D names a module or a function: without quotes, and a module of Elixir's without
 * its prefix, as Elixir writes it. True: it is such a module. */
bool pyusdt_vm_write_name(ERL_NIF_TERM atom, char name[PYUSDT_VM_NAME]);

#pragma GCC visibility pop

#endif
