/* A cache between two trace events (see vm_cache.h). */
#include "vm_cache.h"

#include <string.h>

struct pyusdt_vm_cache pyusdt_vm_ports = PYUSDT_VM_CACHE("pyusdt_vm_ports", struct pyusdt_vm_port);
struct pyusdt_vm_cache pyusdt_vm_peers = PYUSDT_VM_CACHE("pyusdt_vm_peers", struct pyusdt_vm_peer);
struct pyusdt_vm_cache pyusdt_vm_blocked =
    PYUSDT_VM_CACHE("pyusdt_vm_blocked", struct pyusdt_vm_blocked);

bool pyusdt_vm_cache_load(struct pyusdt_vm_cache *cache)
{
    if (!cache->lock)
        cache->lock = enif_mutex_create(cache->name);
    return cache->lock != NULL;
}

/* The low bits of such terms are their kind. */
static ERL_NIF_TERM *find_place(const struct pyusdt_vm_cache *cache, ERL_NIF_TERM key)
{
    return (ERL_NIF_TERM *)((char *)cache->entries +
                            key / 16 % PYUSDT_VM_CACHE_ENTRIES * cache->size);
}

/* A free place is one of key 0. */
void pyusdt_vm_cache_put(struct pyusdt_vm_cache *cache, const void *entry)
{
    ERL_NIF_TERM *place = find_place(cache, *(const ERL_NIF_TERM *)entry);

    enif_mutex_lock(cache->lock);
    if (*place == 0)
        atomic_fetch_add(&cache->used, 1);
    memcpy(place, entry, cache->size);
    enif_mutex_unlock(cache->lock);
}

static bool find_entry(struct pyusdt_vm_cache *cache, ERL_NIF_TERM key, void *entry, bool removes)
{
    ERL_NIF_TERM *place = find_place(cache, key);
    bool found;

    if (atomic_load_explicit(&cache->used, memory_order_relaxed) == 0)
        return false;
    enif_mutex_lock(cache->lock);
    found = *place == key;
    if (found)
        memcpy(entry, place, cache->size);
    if (found && removes) {
        *place = 0;
        atomic_fetch_sub(&cache->used, 1);
    }
    enif_mutex_unlock(cache->lock);
    return found;
}

bool pyusdt_vm_cache_find(struct pyusdt_vm_cache *cache, ERL_NIF_TERM key, void *entry)
{
    return find_entry(cache, key, entry, false);
}

bool pyusdt_vm_cache_remove(struct pyusdt_vm_cache *cache, ERL_NIF_TERM key, void *entry)
{
    return find_entry(cache, key, entry, true);
}

struct pyusdt_vm_port pyusdt_vm_find_port(ERL_NIF_TERM port)
{
    struct pyusdt_vm_port found;

    return pyusdt_vm_cache_find(&pyusdt_vm_ports, port, &found)
               ? found
               : (struct pyusdt_vm_port){.port = port};
}
