/*
 * Which session traces which process, and how full its rings are, read from outside: `pyusdt top`.
 *
 * - It attaches to nothing, makes nothing and changes nothing.
 * - Each file is untrusted: it is read once, into private memory.
 */
#ifndef PYUSDT_DISCOVERY_RING_USAGE_H
#define PYUSDT_DISCOVERY_RING_USAGE_H

#include <stddef.h>
#include <stdint.h>

struct pyusdt_error;

#pragma GCC visibility push(hidden)

/* A process that runs and a session that traces it. The process itself writes the numbers. */
struct pyusdt_ring_usage {
    uint32_t pid,
        tracer; /* of the target as in struct pyusdt_target_info; of the tracer in its own pid namespace */
    int visible;
    char comm[16];
    uint32_t rings;
    uint64_t published, unread, room,
        lost; /* bytes of all rings: ever, not read yet, their size; events */
};

/* Calls fn for each of them in all run directories that the caller may enter; stops when it returns nonzero. 0 or -errno. */
typedef int pyusdt_ring_usage_fn(void *arg, const struct pyusdt_ring_usage *looked);
int pyusdt_read_ring_usage(pyusdt_ring_usage_fn *fn, void *arg, struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
