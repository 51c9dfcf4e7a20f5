/* Processes that are suspended since a port is busy.
 *
 * In:      such a process and its port, from the controlling process, which the emulator tells.
 * Out:     the same, when the process runs again.
 * Always:  bounded: one more than fits is not kept. */
#ifndef PYUSDT_NIF_VM_BLOCKED_H
#define PYUSDT_NIF_VM_BLOCKED_H

#include <erl_nif.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* All of this node, and atoms: immediate terms. */
struct pyusdt_vm_blocked {
    ERL_NIF_TERM process, port;
    ERL_NIF_TERM here, there; /* nodes, where it is a port of the distribution; else `undefined` */
};

bool pyusdt_vm_blocked_load(void);
void pyusdt_vm_blocked_add(const struct pyusdt_vm_blocked *blocked); /* in the place of what the process had */
bool pyusdt_vm_blocked_take(ERL_NIF_TERM process, struct pyusdt_vm_blocked *blocked);

#pragma GCC visibility pop

#endif
