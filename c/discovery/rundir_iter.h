/* The run directories of all processes: the user's own, for root those of all users, and those in containers; and the pids of the processes
 * in them. */
#ifndef PYUSDT_DISCOVERY_RUNDIR_ITER_H
#define PYUSDT_DISCOVERY_RUNDIR_ITER_H

#include "shared/rundir.h"
#include "discovery/rundir_open.h"

#define PYUSDT_RUNDIRS_MAX 256 /* run directories of one session, or of one walk through all */

#pragma GCC visibility push(hidden)

/* Calls fn with each of them, once, and closes it then; of one that is named (rundir, or by the environment) with this one alone.
 * Directories that cannot be opened are passed over, except the first. Stops when fn returns nonzero. 0 or -errno */
typedef int pyusdt_each_rundir_fn(void *arg, const struct pyusdt_rundir_handle *in);
int pyusdt_each_rundir(const char *rundir, pyusdt_each_rundir_fn *fn, void *arg,
                       struct pyusdt_error *error);

/* The pid, in the tracer's namespace, of a process by the identity and pid namespace of its control file; 0: it has none here, or
 * was not looked for. lookups: how many there were in this directory, a bounded number, since control files may be forged. */
uint32_t pyusdt_find_local_pid(uint64_t pidns, const struct pyusdt_identity *who,
                               uint32_t *lookups);

#pragma GCC visibility pop

#endif
