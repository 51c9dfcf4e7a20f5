/*
 * How many calls of functions whose returns are traced each process has open.
 *
 * - Such a call leaves a frame on the stack of its process, also if it is a tail call. So a loop
 *   that never returns grows its process: the calls of a process that has too many open are no
 *   longer traced.
 * - The controlling process asks for these, ends the trace of the function's returns, and has the
 *   entries of dead processes removed.
 * - All processes together may have a hundred times as many open as one.
 * - The table is bounded. If it is full, calls of further processes are not traced.
 */
#ifndef PYUSDT_NIF_VM_OPEN_CALLS_H
#define PYUSDT_NIF_VM_OPEN_CALLS_H

#include <erl_nif.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

bool pyusdt_vm_open_calls_load(void); /* false: no memory */

/* A process may have so many open, from now on. */
void pyusdt_vm_open_calls_begin(unsigned most);

/* Whether a call of this process may be traced. */
bool pyusdt_vm_may_open(ERL_NIF_TERM process);

/* A call {Module, Function, …} of this process was traced, or one has ended. */
void pyusdt_vm_open_call(ErlNifEnv *env, ERL_NIF_TERM process, ERL_NIF_TERM mfa);
void pyusdt_vm_close_call(ERL_NIF_TERM process);

/* vm_deep_processes(): {Pid, Open, Module, Function, Arity} of processes with too many, or of the one
 * with most if all together have; the function is that of the last call. They may have as many
 * again. */
ERL_NIF_TERM pyusdt_nif_vm_deep_processes(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[]);

#pragma GCC visibility pop

#endif
