/* Which processes a session finds: those with a control file in one of its run directories that may join, and are not known yet. */
#ifndef PYUSDT_SESSION_TARGET_SCAN_H
#define PYUSDT_SESSION_TARGET_SCAN_H

#include <stdbool.h>

struct pyusdt_session_dir;
struct pyusdt_session;

#pragma GCC visibility push(hidden)

/* In all directories that have changed since the last scan; always: in all. */
void pyusdt_session_scan(struct pyusdt_session *session, bool always);
void pyusdt_session_dir_scan(struct pyusdt_session *session,
                             struct pyusdt_session_dir *rundir); /* in one directory, at once */

#pragma GCC visibility pop

#endif
