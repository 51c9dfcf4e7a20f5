/*
 * What the tracer stores between two trace events, by the process or port of both.
 *
 * - The first member of an entry is its key: a pid or port of this node, an immediate term.
 * - The cache is bounded: an entry may replace another, which is then lost.
 * - Reading an empty table takes no lock.
 */
#ifndef PYUSDT_NIF_VM_CACHE_H
#define PYUSDT_NIF_VM_CACHE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>

#pragma GCC visibility push(hidden)

enum { PYUSDT_VM_CACHE_ENTRIES = 1024, PYUSDT_VM_PORT_NAME = 64, PYUSDT_VM_PEER = 64 };

struct pyusdt_vm_cache {
    char *name; /* of its lock */
    size_t size;
    void *entries;
    ErlNifMutex *lock; /* held for a copy of one entry */
    atomic_uint used;
};

#define PYUSDT_VM_CACHE(of, type) \
    {(char *)(of), sizeof(type), (type[PYUSDT_VM_CACHE_ENTRIES]){{0}}, NULL, 0}

bool pyusdt_vm_cache_load(struct pyusdt_vm_cache *cache); /* false: no memory */
void pyusdt_vm_cache_put(struct pyusdt_vm_cache *cache, const void *entry);
bool pyusdt_vm_cache_find(struct pyusdt_vm_cache *cache, ERL_NIF_TERM key, void *entry);
bool pyusdt_vm_cache_remove(struct pyusdt_vm_cache *cache, ERL_NIF_TERM key,
                            void *entry); /* it is no longer stored */

/* Names and owners of ports, which their later trace events do not have. */
struct pyusdt_vm_port {
    ERL_NIF_TERM port, owner;
    char name[PYUSDT_VM_PORT_NAME];
};

/* The peer of a port's connection. */
struct pyusdt_vm_peer {
    ERL_NIF_TERM port;
    char peer[PYUSDT_VM_PEER];
};

/* A process that is suspended since a port is busy. */
struct pyusdt_vm_blocked {
    ERL_NIF_TERM process, port;
    ERL_NIF_TERM here, there; /* nodes, if it is a port of the distribution; else `undefined` */
};

extern struct pyusdt_vm_cache pyusdt_vm_ports, pyusdt_vm_peers, pyusdt_vm_blocked;

struct pyusdt_vm_port pyusdt_vm_find_port(ERL_NIF_TERM port); /* owner 0, name "": unknown */

#pragma GCC visibility pop

#endif
