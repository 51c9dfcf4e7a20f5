/*
 * A process as /proc shows it, by a descriptor: a later process with the same pid is never mistaken for it.
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
    uint32_t uid;   /* its effective uid, in the tracer's user namespace */
    uint32_t gid;
    uint32_t
        name; /* what it takes itself for: the uid in its own user namespace, which its directory is named by */
    bool one_user; /* it has no other uid besides: no set-uid program */
    uint64_t starttime;
    uint64_t mounts; /* its mount and user namespaces; 0: ours */
    uint64_t users;
};

/* 0 or -errno: -ESRCH, and the system's error if the caller may not read it. */
int pyusdt_proc_open(uint32_t pid, struct pyusdt_proc_handle *handle);
void pyusdt_proc_close(const struct pyusdt_proc_handle *handle);

/* Does it still run, as the same user, in the same namespaces? */
bool pyusdt_proc_is_same(const struct pyusdt_proc_handle *handle);

/* A descriptor of its root directory, or -1 and errno. */
int pyusdt_proc_open_root(const struct pyusdt_proc_handle *handle);

/* For how long it has been running, ns. */
uint64_t pyusdt_proc_age_ns(const struct pyusdt_proc_handle *handle);

/* Whether it is trusted: it is the tracer's user's and in no container, so it could do itself whatever it might make the tracer do. */
bool pyusdt_proc_is_trusted(const struct pyusdt_proc_handle *handle);

#pragma GCC visibility pop

#endif
