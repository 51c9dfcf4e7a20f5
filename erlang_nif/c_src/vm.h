/*
 * The NIFs of pyusdt_nif.erl for the emulator's probes, which turn trace events of the emulator
 * into events of the probes of vm_probes.h.
 *
 * - A call is bounded and sends nothing.
 * - If no tracer wants an event, the emulator gets `discard` and makes none.
 * - The controlling process is never traced. Without it, and while nothing is switched on, the
 *   emulator gets `remove`.
 * - There is no trace_call/5: for meta traces the emulator would call it with three arguments.
 */
#ifndef PYUSDT_NIF_VM_H
#define PYUSDT_NIF_VM_H

#include <erl_nif.h>

#pragma GCC visibility push(hidden)

/* When the module is loaded: false if that fails. */
int pyusdt_vm_load(ErlNifEnv *env);
void pyusdt_vm_unload(void); /* none of our code runs any more */

/* vm_define(Names): makes these probes; it writes a file, so it belongs on a dirty scheduler. */
ERL_NIF_TERM pyusdt_nif_vm_define(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_wanted(): the names of the wanted probes. */
ERL_NIF_TERM pyusdt_nif_vm_wanted(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_check_sessions(): sets up new sessions and checks whether their tracers live; it may map files
 * (dirty). The names of the probes of which a sequential trace token, or the caller, is read. */
ERL_NIF_TERM pyusdt_nif_vm_check_sessions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_any_module(Probe): whether a session wants this probe of functions without naming a module. */
ERL_NIF_TERM pyusdt_nif_vm_any_module(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_functions(Probe, Module, [{Function, Arity}]): the functions for which a session wants it and
 * names the module. */
ERL_NIF_TERM pyusdt_nif_vm_functions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* For pyusdt_vm_conditions.erl: vm_conditions(): {Session, Term} for each session that has conditions;
 * vm_sessions(Probe, Module, Function): those that want it there, true if another tool has attached;
 * vm_is_matched(Pattern, Name); is_secret(Key). */
ERL_NIF_TERM pyusdt_nif_vm_conditions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_vm_sessions(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_vm_is_matched(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_is_secret(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_unmatched(Probe, [{Module, [{Function, Arity}]}]): {Module, Function, IsModuleThere} of the
 * patterns by which sessions ask for it, and which none of these matches. */
ERL_NIF_TERM pyusdt_nif_vm_unmatched(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_watch(On): the controlling process is sent `changed` when tracers want something else.
 * False: it is not. It waits for a thread (dirty). */
ERL_NIF_TERM pyusdt_nif_vm_watch(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_set_controller(Processes): the caller is the controlling process; whether flags of processes
 * are set (else the emulator removes us from them). */
ERL_NIF_TERM pyusdt_nif_vm_set_controller(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_read_overrun(): how many events a scheduler had in how many microseconds when it was too many,
 * or `false`. Until vm_begin() every event is dropped. */
ERL_NIF_TERM pyusdt_nif_vm_read_overrun(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_begin(Rate, Depth, Secrets): nothing is traced yet; events a second on one scheduler above which all are
 * dropped, 0: any number are allowed; calls whose returns are traced that a process may have open; whether secrets are shown. */
ERL_NIF_TERM pyusdt_nif_vm_begin(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_remark(Number, Names, Text | none, refused | absent | later): what tracers that want one of these
 * probes are to print. false: there is no room, or not now. */
ERL_NIF_TERM pyusdt_nif_vm_remark(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_port(Port, Name): a port that was open before it was traced. */
ERL_NIF_TERM pyusdt_nif_vm_port(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_peer(Port, Ip, Number): the peer of a socket that was accepted, or open before. */
ERL_NIF_TERM pyusdt_nif_vm_peer(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_blocked(Process, Port, Here, There): the process is suspended, since the port is busy; the
 * names of the two nodes if it is a port of the distribution, else `undefined`. */
ERL_NIF_TERM pyusdt_nif_vm_blocked(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* vm_fire(Name, Values): an event that the controlling process has detected. */
ERL_NIF_TERM pyusdt_nif_vm_fire(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

/* enabled(Tag, State, Tracee), trace(Tag, State, Tracee, Term, Options): the tracer's. */
ERL_NIF_TERM pyusdt_nif_vm_enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);
ERL_NIF_TERM pyusdt_nif_vm_trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

#pragma GCC visibility pop

#endif
