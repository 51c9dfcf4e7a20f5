/*
 * Processes that do not see what we see: those with other mounts (containers), and numbers of other pid namespaces.
 * Where there is no /proc (macOS, FreeBSD) there are none.
 */
#ifndef PYUSDT_DISCOVERY_NAMESPACES_H
#define PYUSDT_DISCOVERY_NAMESPACES_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Calls fn with each process that has other mounts than ours and may be read: its pid, the number of its mount namespace, and
 * its owner; 0: root, or a user who has changed his uid. Stops when fn returns nonzero. 0, or -errno: /proc cannot be read. */
typedef int pyusdt_other_namespace_fn(void *arg, uint32_t pid, uint64_t mounts, uint32_t owner);
int pyusdt_each_other_namespace(pyusdt_other_namespace_fn *fn, void *arg);

/* The pid, as we see it, of the process that has this one in that pid namespace, and this start time; 0: there is none here. */
uint32_t pyusdt_find_host_pid(uint64_t pidns, uint32_t inner, uint64_t starttime);

#pragma GCC visibility pop

#endif
