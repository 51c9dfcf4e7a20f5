/* Processes that are suspended since a port is busy: see vm_blocked.h. */
#include "vm_blocked.h"

#include <stdatomic.h>

enum { KEPT = 64 };

static struct pyusdt_vm_blocked all[KEPT];
static atomic_uint used; /* so that the lock is taken only where there is one */
static ErlNifMutex *lock;

bool pyusdt_vm_blocked_load(void)
{
    if (!lock)
        lock = enif_mutex_create("pyusdt_vm_blocked");
    return lock != NULL;
}

/* Under the lock. A free place is one of process 0. */
static struct pyusdt_vm_blocked *find(ERL_NIF_TERM process)
{
    for (unsigned i = 0; i < KEPT; i++)
        if (all[i].process == process)
            return &all[i];
    return NULL;
}

void pyusdt_vm_blocked_add(const struct pyusdt_vm_blocked *blocked)
{
    struct pyusdt_vm_blocked *place;

    enif_mutex_lock(lock);
    place = find(blocked->process);
    if (!place && (place = find(0)))
        atomic_fetch_add(&used, 1);
    if (place)
        *place = *blocked;
    enif_mutex_unlock(lock);
}

bool pyusdt_vm_blocked_take(ERL_NIF_TERM process, struct pyusdt_vm_blocked *blocked)
{
    struct pyusdt_vm_blocked *place;

    if (atomic_load_explicit(&used, memory_order_relaxed) == 0)
        return false;
    enif_mutex_lock(lock);
    place = find(process);
    if (place) {
        *blocked = *place;
        place->process = 0;
        atomic_fetch_sub(&used, 1);
    }
    enif_mutex_unlock(lock);
    return place != NULL;
}
