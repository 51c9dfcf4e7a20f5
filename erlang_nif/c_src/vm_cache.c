/* What the tracer keeps between two trace events: see vm_cache.h. */
#include "vm_cache.h"

#include <string.h>

struct pyusdt_vm_kept pyusdt_vm_ports =
    PYUSDT_VM_KEPT_TABLE("pyusdt_vm_ports", struct pyusdt_vm_port);
struct pyusdt_vm_kept pyusdt_vm_peers =
    PYUSDT_VM_KEPT_TABLE("pyusdt_vm_peers", struct pyusdt_vm_peer);
struct pyusdt_vm_kept pyusdt_vm_blocked =
    PYUSDT_VM_KEPT_TABLE("pyusdt_vm_blocked", struct pyusdt_vm_blocked);

bool pyusdt_vm_kept_load(struct pyusdt_vm_kept *kept)
{
    if (!kept->lock)
        kept->lock = enif_mutex_create(kept->name);
    return kept->lock != NULL;
}

/* The low bits of such terms are their kind. */
static ERL_NIF_TERM *place_of(const struct pyusdt_vm_kept *kept, ERL_NIF_TERM key)
{
    return (ERL_NIF_TERM *)((char *)kept->entries + key / 16 % PYUSDT_VM_KEPT * kept->size);
}

/* A free place is one of key 0. */
void pyusdt_vm_kept_put(struct pyusdt_vm_kept *kept, const void *entry)
{
    ERL_NIF_TERM *place = place_of(kept, *(const ERL_NIF_TERM *)entry);

    enif_mutex_lock(kept->lock);
    if (*place == 0)
        atomic_fetch_add(&kept->used, 1);
    memcpy(place, entry, kept->size);
    enif_mutex_unlock(kept->lock);
}

static bool look(struct pyusdt_vm_kept *kept, ERL_NIF_TERM key, void *entry, bool takes)
{
    ERL_NIF_TERM *place = place_of(kept, key);
    bool found;

    if (atomic_load_explicit(&kept->used, memory_order_relaxed) == 0)
        return false;
    enif_mutex_lock(kept->lock);
    found = *place == key;
    if (found)
        memcpy(entry, place, kept->size);
    if (found && takes) {
        *place = 0;
        atomic_fetch_sub(&kept->used, 1);
    }
    enif_mutex_unlock(kept->lock);
    return found;
}

bool pyusdt_vm_kept_find(struct pyusdt_vm_kept *kept, ERL_NIF_TERM key, void *entry)
{
    return look(kept, key, entry, false);
}

bool pyusdt_vm_kept_take(struct pyusdt_vm_kept *kept, ERL_NIF_TERM key, void *entry)
{
    return look(kept, key, entry, true);
}

struct pyusdt_vm_port pyusdt_vm_port_of(ERL_NIF_TERM port)
{
    struct pyusdt_vm_port found;

    return pyusdt_vm_kept_find(&pyusdt_vm_ports, port, &found)
               ? found
               : (struct pyusdt_vm_port){.port = port};
}
