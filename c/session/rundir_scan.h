/* Which run directories a session enters while it runs: those of other users and of containers, as they come. */
#ifndef PYUSDT_SESSION_RUNDIR_SCAN_H
#define PYUSDT_SESSION_RUNDIR_SCAN_H

#include <stdint.h>

struct pyusdt_session_dir;
struct pyusdt_session;

#pragma GCC visibility push(hidden)

void pyusdt_session_scan_rundirs(struct pyusdt_session *session, uint64_t now);

/*
 * A process that is not its directory's owner any more (setuid) publishes itself anew when it finds that it cannot use that:
 * in its new user's directory, which is made here (as that user) if need be, so that the session is there already.
 */
void pyusdt_session_follow_setuid(struct pyusdt_session *session,
                                  const struct pyusdt_session_dir *rundir, uint32_t pid,
                                  uint32_t host);

#pragma GCC visibility pop

#endif
