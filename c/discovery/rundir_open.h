/*
 * Which run directories a tracer opens, and how: the one place where that is decided.
 * docs/reference/security.md says why.
 *
 * - A directory belongs to its owner only. All work there goes by its descriptor, and root does it
 *   as the owner (shared/fsuid.h).
 * - No path that a process reports is opened, except for a process of the tracer's own user in the
 *   tracer's own namespaces: that user could do himself whatever the tracer does for him.
 * - Any other process has the directory /dev/shm/pyusdt-UID or /tmp/pyusdt-UID. The walk there goes
 *   name by name, without links, and nothing may be mounted upon it.
 * - `path` is for messages, and never opened again.
 */
#ifndef PYUSDT_DISCOVERY_RUNDIR_OPEN_H
#define PYUSDT_DISCOVERY_RUNDIR_OPEN_H

#include "shared/rundir.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_PARENTS 2 /* where the system puts users' own directories: /dev/shm and /tmp */

struct pyusdt_rundir_handle {
    int dir;
    uint32_t uid;    /* its owner */
    int parent;      /* which of those places it is in; -1: it was named */
    uint64_t mounts; /* the mount namespace that it was entered in; 0: ours */
    char path[PYUSDT_PATH_SIZE];
};

struct pyusdt_proc_handle; /* proc_handle.h */

/* What the tracer's user names; NULL: his own, made if need be. 0 or -errno, as all of these. */
int pyusdt_rundir_open_named(const char *path, struct pyusdt_rundir_handle *in,
                             struct pyusdt_error *error);

/* The directory that a trusted process reports; only if it is this user's. */
int pyusdt_rundir_open_reported(const char *path, uint32_t uid, struct pyusdt_rundir_handle *in,
                                struct pyusdt_error *error);

/* A user's, in the tracer's mount namespace. */
int pyusdt_rundir_open_of_user(unsigned parent, uint32_t uid, struct pyusdt_rundir_handle *in,
                               struct pyusdt_error *error);

/* That of the process's user, below the process's root where that has other mounts. make: where there is none. */
int pyusdt_rundir_open_of_handle(const struct pyusdt_proc_handle *handle, unsigned parent,
                                 bool make, struct pyusdt_rundir_handle *in,
                                 struct pyusdt_error *error);

/* The same by a process's number. */
int pyusdt_rundir_open_of_process(uint32_t pid, unsigned parent, bool make,
                                  struct pyusdt_rundir_handle *in, struct pyusdt_error *error);

/* Calls fn with the uid of each directory in one of those places that is named as a user's; whether it is his, fn has to see.
 * Stops when fn returns nonzero. 0 or -errno; *modified, if not NULL: the time of the place's last change: not read when
 * it still is so, and set where that can tell a later change. */
typedef int pyusdt_user_rundir_fn(void *arg, unsigned parent, uint32_t uid);
int pyusdt_each_user_rundir(unsigned parent, int64_t *modified, pyusdt_user_rundir_fn *fn,
                            void *arg);

#pragma GCC visibility pop

#endif
