/* The probes of processes that run, and of those that a kept session still knows, without starting a session. */
#ifndef PYUSDT_SESSION_LIST_PROBES_H
#define PYUSDT_SESSION_LIST_PROBES_H

#include <sys/types.h>

#include "events/event.h"

struct pyusdt_session;

#pragma GCC visibility push(hidden)

/*
 * Calls fn for each probe of each live process of the run directory (NULL: the user's own), or of one process (pid not
 * 0, found wherever its run directory is). With `beside`, also of all other processes of that one's run directory. Stops when
 * fn returns nonzero. Returns how many processes were seen.
 */
int pyusdt_list_probes(const char *rundir, pid_t pid, bool beside, pyusdt_list_fn *fn, void *arg,
                       struct pyusdt_error *error);

/* Processes with another build of pyusdt, which this one does not understand: calls fn with a sentence that says so, for each. 0 or
 * -errno. */
typedef void pyusdt_other_fn(void *arg, uint32_t pid, const char *sentence);
int pyusdt_list_other_builds(pyusdt_other_fn *fn, void *arg, struct pyusdt_error *error);

/* The probes of the processes that joined a kept session and have ended since; before it is started. 0 or -errno. */
int pyusdt_session_list_dead(struct pyusdt_session *session, pyusdt_list_fn *fn, void *arg);

#pragma GCC visibility pop

#endif
