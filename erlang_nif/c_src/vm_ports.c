/* Names and owners of ports: see vm_ports.h. */
#include "vm_ports.h"

#define KEPT 1024

static struct pyusdt_vm_port all[KEPT];
static ErlNifMutex *lock; /* held for a copy of one entry; events of ports are few */

static struct pyusdt_vm_port *place_of(ERL_NIF_TERM port)
{
    return &all[port / 16 % KEPT];
}

bool pyusdt_vm_ports_load(void)
{
    if (!lock)
        lock = enif_mutex_create("pyusdt_vm_ports");
    return lock != NULL;
}

void pyusdt_vm_ports_add(const struct pyusdt_vm_port *port)
{
    enif_mutex_lock(lock);
    *place_of(port->port) = *port;
    enif_mutex_unlock(lock);
}

void pyusdt_vm_ports_connect(ERL_NIF_TERM port, ERL_NIF_TERM owner)
{
    enif_mutex_lock(lock);
    if (place_of(port)->port == port)
        place_of(port)->owner = owner;
    enif_mutex_unlock(lock);
}

struct pyusdt_vm_port pyusdt_vm_ports_find(ERL_NIF_TERM port)
{
    struct pyusdt_vm_port found;

    enif_mutex_lock(lock);
    found = *place_of(port);
    enif_mutex_unlock(lock);
    return found.port == port ? found : (struct pyusdt_vm_port){.port = port};
}
