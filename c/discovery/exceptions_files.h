/* The files in which processes keep their last exceptions (shared/exceptions_file.h), of dead processes, too. */
#ifndef PYUSDT_DISCOVERY_EXCEPTIONS_FILES_H
#define PYUSDT_DISCOVERY_EXCEPTIONS_FILES_H

#include "shared/error.h"
#include "shared/rundir.h"

#pragma GCC visibility push(hidden)

struct pyusdt_exceptions_found {
    uint32_t pid; /* in the tracer's namespace; of a dead process of another namespace its own */
    uint64_t starttime; /* in the unit of /proc/PID/stat */
    int is_alive;
    int fd;           /* open for reading, until the call returns */
    const char *name; /* of the file, without its directory */
};

/* Calls fn with each file of the run directories that are this user's, for root those of all users; pid: only of this process,
 * 0: of all. Stops when fn returns nonzero. 0 or -errno. */
typedef int pyusdt_exceptions_fn(void *arg, const struct pyusdt_exceptions_found *found);
int pyusdt_each_exceptions_file(uint32_t pid, pyusdt_exceptions_fn *fn, void *arg,
                                struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
