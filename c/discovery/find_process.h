/* Finding the control file of a process; find_process_linux.c and find_process_portable.c tell how. */
#ifndef PYUSDT_DISCOVERY_FIND_PROCESS_H
#define PYUSDT_DISCOVERY_FIND_PROCESS_H

#include "discovery/rundir_open.h"

#pragma GCC visibility push(hidden)

struct pyusdt_process_file {
    struct pyusdt_entered in; /* its run directory: the caller closes it */
    uint32_t inner;           /* its pid in its own namespace */
    bool published; /* false: a forked child that will publish itself with its first probe */
    struct pyusdt_identity who; /* where published */
};

/* -ESRCH, -EPERM, -ENODATA as pyusdt_session_attach_pid(). */
int pyusdt_process_find(pid_t pid, struct pyusdt_process_file *found, struct pyusdt_error *error);

/* The same, but only by the names of the files in the caller's own run directory. */
int pyusdt_process_find_by_name(pid_t pid, struct pyusdt_process_file *found,
                                struct pyusdt_error *error);

/* Whose it is: its effective uid; -errno where that is not known. */
int64_t pyusdt_process_uid(uint32_t pid);

#pragma GCC visibility pop

#endif
