/*
 * Calls of OTP functions that are probes: their table, socket or server, and their duration.
 *
 * - A process is in one call of a kind at a time, but may return on another thread. A return finds
 *   its call by the process.
 * - If another process has replaced the entry, values that only the call has are absent.
 */
#ifndef PYUSDT_NIF_VM_CALLS_H
#define PYUSDT_NIF_VM_CALLS_H

#include "vm_events.h"
#include "vm_mfa.h"

#pragma GCC visibility push(hidden)

enum { PYUSDT_VM_ARGUMENTS = 5 };

/* The values of a call, and those that its return adds. */
struct pyusdt_vm_open_call {
    ERL_NIF_TERM process;
    ErlNifTime since;
    char function[24];                /* "": the function */
    char subject[PYUSDT_VM_MFA_TEXT]; /* the table, the socket, the server, the module; "": none */
    char peer[PYUSDT_VM_PEER];        /* the peer, the caller; "": not known */
    int64_t number;                   /* bytes, nanoseconds */
};

struct pyusdt_vm_kind {
    unsigned entry, after; /* its probes */
    uint64_t cached_for;   /* bits of probes for which a call is stored until its return */
    bool has_peer;         /* `peer` and `number` are arguments */
    void (*read)(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *now);
    const char *(*end)(const struct pyusdt_vm_call *call,
                       struct pyusdt_vm_open_call *then); /* adds to it; an error, or "" */
    struct pyusdt_vm_cache *open_calls;
};

extern const struct pyusdt_vm_kind pyusdt_vm_ets, pyusdt_vm_inet, pyusdt_vm_server_call,
    pyusdt_vm_server_cast, pyusdt_vm_handle;

bool pyusdt_vm_calls_load(ErlNifEnv *env); /* false: no memory */
bool pyusdt_vm_inet_load(ErlNifEnv *env);

/* The arguments of a call, at most PYUSDT_VM_ARGUMENTS of them; those that it has not are 0.
 * NULL: it is none. */
const ERL_NIF_TERM *pyusdt_vm_read_arguments(const struct pyusdt_vm_call *call,
                                             ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS]);

/* A term as a short text. */
void pyusdt_vm_write_term(ErlNifEnv *env, ERL_NIF_TERM term, char *text, size_t size);

void pyusdt_vm_call_entry(const struct pyusdt_vm_call *call);
void pyusdt_vm_call_return(const struct pyusdt_vm_call *call);
void pyusdt_vm_restart(const struct pyusdt_vm_call *call);   /* of supervisor:restart/2 */
void pyusdt_vm_load_code(const struct pyusdt_vm_call *call); /* of erlang:prepare_loading/2 */

/* vm_inet.c */
void pyusdt_vm_inet_read(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *now);
const char *pyusdt_vm_inet_end(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *then);
bool pyusdt_vm_inet_address(ErlNifEnv *env, ERL_NIF_TERM ip, ERL_NIF_TERM port,
                            char peer[PYUSDT_VM_PEER]);

#pragma GCC visibility pop

#endif
