/* Names and owners of ports, which their later trace events do not tell.
 *
 * In:      a port, when it is opened or its owner changes.
 * Out:     its name and its owner.
 * Always:  bounded: one port may take another's place, whose name is then unknown. */
#ifndef PYUSDT_NIF_VM_PORTS_H
#define PYUSDT_NIF_VM_PORTS_H

#include <erl_nif.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

enum { PYUSDT_VM_PORT_NAME = 64 };

struct pyusdt_vm_port {
    ERL_NIF_TERM port, owner; /* of this node, so both are immediate terms */
    char name[PYUSDT_VM_PORT_NAME];
};

bool pyusdt_vm_ports_load(void);
void pyusdt_vm_ports_add(const struct pyusdt_vm_port *port);
void pyusdt_vm_ports_connect(ERL_NIF_TERM port, ERL_NIF_TERM owner);
struct pyusdt_vm_port pyusdt_vm_ports_find(ERL_NIF_TERM port); /* owner 0, name "": unknown */

#pragma GCC visibility pop

#endif
