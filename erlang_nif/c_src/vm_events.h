/*
 * Fires the probes for a trace event of the emulator, after vm_trace.c has read its tag and the
 * tracer's state.
 *
 * - Only values that a tracer reads are made.
 */
#ifndef PYUSDT_NIF_VM_EVENTS_H
#define PYUSDT_NIF_VM_EVENTS_H

#include "vm_cache.h"
#include "vm_state.h"
#include "vm_text.h"

enum { PYUSDT_VM_CALLER = 4 }; /* the argument of entries of functions */

#pragma GCC visibility push(hidden)

/* One trace event. */
struct pyusdt_vm_call {
    ErlNifEnv *env;
    ERL_NIF_TERM tracee, term, options;
    const struct pyusdt_vm_kind *kind; /* of calls (vm_calls.h) */
    bool is_exception;                 /* exception_from */
};

/* False: no session wants it. All arguments are absent until they are set. */
bool pyusdt_vm_event_begin(struct pyusdt_vm_event *event, ErlNifEnv *env, unsigned probe);
void pyusdt_vm_event_offer(const struct pyusdt_vm_event *event, unsigned probe);

/* A value of the trace event's options. */
bool pyusdt_vm_find_option(const struct pyusdt_vm_call *call, ERL_NIF_TERM key,
                           ERL_NIF_TERM *value);

/* A process, by its pid or by another name, as an argument. */
void pyusdt_vm_put_receiver(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM to);

/* vm_events.c: of processes. */
void pyusdt_vm_spawned(const struct pyusdt_vm_call *call);
void pyusdt_vm_exit(const struct pyusdt_vm_call *call);
void pyusdt_vm_exit_signal(const struct pyusdt_vm_call *call); /* a call of erlang:exit/2 */
void pyusdt_vm_scheduled(const struct pyusdt_vm_call *call);
void pyusdt_vm_unscheduled(const struct pyusdt_vm_call *call);
void pyusdt_vm_send(const struct pyusdt_vm_call *call);
void pyusdt_vm_queued(const struct pyusdt_vm_call *call);
void pyusdt_vm_gc_major_start(const struct pyusdt_vm_call *call);
void pyusdt_vm_gc_minor_start(const struct pyusdt_vm_call *call);
void pyusdt_vm_gc_major_end(const struct pyusdt_vm_call *call);
void pyusdt_vm_gc_minor_end(const struct pyusdt_vm_call *call);

/* vm_port_events.c */
void pyusdt_vm_open(const struct pyusdt_vm_call *call);
void pyusdt_vm_closed(const struct pyusdt_vm_call *call);
void pyusdt_vm_port_receive(const struct pyusdt_vm_call *call);

/* vm_driver_events.c */
void pyusdt_vm_unblocked(const struct pyusdt_vm_call *call,
                         const struct pyusdt_vm_blocked *blocked); /* it runs again */
void pyusdt_vm_driver(
    const struct pyusdt_vm_call *call); /* a call of erl_ddll, or of erts_internal:port_call/3 */

/* vm_files.c: calls of prim_file's NIFs */
bool pyusdt_vm_files_load(ErlNifEnv *env); /* makes the atoms; false: no memory */
void pyusdt_vm_file_entry(const struct pyusdt_vm_call *call);
void pyusdt_vm_file_return(const struct pyusdt_vm_call *call);
void pyusdt_vm_file_exception(const struct pyusdt_vm_call *call);

/* vm_functions.c: probes that have places. */
void pyusdt_vm_local_entry(const struct pyusdt_vm_call *call);
void pyusdt_vm_local_return(const struct pyusdt_vm_call *call);
void pyusdt_vm_global_entry(const struct pyusdt_vm_call *call);
void pyusdt_vm_bif_entry(const struct pyusdt_vm_call *call);
void pyusdt_vm_bif_return(const struct pyusdt_vm_call *call);
void pyusdt_vm_nif_entry(const struct pyusdt_vm_call *call);
void pyusdt_vm_nif_return(const struct pyusdt_vm_call *call);

#pragma GCC visibility pop

#endif
