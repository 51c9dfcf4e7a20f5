/*
 * What each user's processes cost the tracer, and the end of a user's tracing.
 *
 * - The processes of a user who is cut off join no more, whatever directory they use. Their probes are off, and what
 *   their rings still hold counts as dropped. The other users' processes go on as before.
 */
#ifndef PYUSDT_SESSION_USER_WORK_H
#define PYUSDT_SESSION_USER_WORK_H

#include <stdint.h>

struct pyusdt_session;

#pragma GCC visibility push(hidden)

/* What the processes of one of the session's run directories have cost so far; a user may have several. */
struct pyusdt_user_work {
    uint32_t uid;
    uint64_t work; /* for events and refreshes, in units: their proportions compare users */
    uint64_t ns;   /* processor time, for processes that come, change and go */
};

/* -ENOENT: no such directory. Not while several threads deliver. */
int pyusdt_session_user_work(const struct pyusdt_session *session, uint32_t n,
                             struct pyusdt_user_work *work);

/* Ends the tracing of all processes of a user, for good. What they have fired and was not delivered is dropped, and counted. */
void pyusdt_session_stop_user(struct pyusdt_session *session, uint32_t uid);

#pragma GCC visibility pop

#endif
