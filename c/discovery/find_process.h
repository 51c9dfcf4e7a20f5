/*
 * Finding the run directory and the control file of a process.
 *
 * find_process_linux.c searches by what the process has mapped, find_process_portable.c by the names of files.
 */
#ifndef PYUSDT_DISCOVERY_FIND_PROCESS_H
#define PYUSDT_DISCOVERY_FIND_PROCESS_H

#include "discovery/rundir_open.h"

#pragma GCC visibility push(hidden)

struct pyusdt_process_file {
    struct pyusdt_rundir_handle in; /* its run directory: the caller closes it */
    uint32_t inner;                 /* its pid in its own namespace */
    bool published; /* false: a forked child that will publish itself with its first probe */
    struct pyusdt_identity who; /* if published */
};

/* -ESRCH no such process; -EPERM another user's; -ENODATA no pyusdt in it. */
int pyusdt_find_process(pid_t pid, struct pyusdt_process_file *found, struct pyusdt_error *error);

/* The same, but only by the names of the files in the caller's own run directory. */
int pyusdt_find_process_by_name(pid_t pid, struct pyusdt_process_file *found,
                                struct pyusdt_error *error);

/* Its effective uid; -errno if it is not known. */
int64_t pyusdt_read_process_uid(uint32_t pid);

/* The run directory of a process that has pyusdt in it, for people to read. 0: it is published there; 1: it will publish itself there
 * with its first probe, as a forked child does. Errors as of pyusdt_find_process(). */
int pyusdt_find_rundir(pid_t pid, char *path, size_t size, struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
