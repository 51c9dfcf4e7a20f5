/*
 * A process as /proc shows it, by a descriptor: another that gets its number later is never taken for it.
 * Where there is no /proc (macOS, FreeBSD) nothing can be seen: -ENOTSUP.
 */
#ifndef PYUSDT_DISCOVERY_PROC_HANDLE_H
#define PYUSDT_DISCOVERY_PROC_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct pyusdt_proc_handle {
    int proc; /* its directory there */
    int thread; /* the same; where its first thread has ended, which has no memory any more, that of another */
    uint32_t pid;   /* in our namespace */
    uint32_t inner; /* in its own */
    uint32_t uid;   /* whose it is, as we see him: its effective uid */
    uint32_t gid;
    uint32_t
        name; /* what it takes itself for: the uid in its own user namespace, which its directory is named by */
    bool one_user; /* it has no other uid besides: no set-uid program */
    uint64_t starttime;
    uint64_t mounts; /* its mount and user namespaces; 0: ours */
    uint64_t users;
};

/* 0 or -errno: -ESRCH, and what the system says to who may not look. */
int pyusdt_proc_open(uint32_t pid, struct pyusdt_proc_handle *handle);
void pyusdt_proc_close(const struct pyusdt_proc_handle *handle);

/* Does it still run, as the same user, in the same namespaces? */
bool pyusdt_proc_is_same(const struct pyusdt_proc_handle *handle);

/* A descriptor of its root directory, or -1 and errno. */
int pyusdt_proc_open_root(const struct pyusdt_proc_handle *handle);

/* For how long it has been running, ns. */
uint64_t pyusdt_proc_age_ns(const struct pyusdt_proc_handle *handle);

/* Is what it shows believed? It could do itself what it might make us do: it is ours, and is no stranger in a container. */
bool pyusdt_proc_is_trusted(const struct pyusdt_proc_handle *handle);

#pragma GCC visibility pop

#endif
