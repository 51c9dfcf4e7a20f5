/*
 * Calls of one function for erltrace:watch/2, as messages to a process.
 *
 * - At most as many messages are sent as were asked for, and at most as many calls are looked at:
 *   behind that nothing is traced, whatever the receiver does. So stacks do not grow for ever either.
 * - A call's arguments and result are encoded with limits, without secrets (term_encode.h).
 */
#ifndef PYUSDT_NIF_VM_WATCH_H
#define PYUSDT_NIF_VM_WATCH_H

#include "vm_events.h"

#pragma GCC visibility push(hidden)

bool pyusdt_vm_watch_load(void); /* false: no memory */

/* What the tracer's enabled() and trace() answer in the state `watch`. */
ERL_NIF_TERM pyusdt_vm_watch_enabled(const ERL_NIF_TERM argv[]);
void pyusdt_vm_watch_trace(const struct pyusdt_vm_call *call, ERL_NIF_TERM tag);

/* vm_watch_begin(Receiver, Messages, Calls, Slower): of calls that take at least Slower microseconds.
 * vm_watch_end(); vm_watch_seen(): how many calls were looked at. */
ERL_NIF_TERM pyusdt_nif_vm_watch_begin(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_vm_watch_end(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_vm_watch_seen(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

#pragma GCC visibility pop

#endif
