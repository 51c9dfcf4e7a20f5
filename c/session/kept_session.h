/*
 * Kept sessions: they go on without their tracer, until it comes back or their time is over.
 *
 * - Which session it is and how large its rings are is read from its file, and checked against bounds.
 * - Its descriptions must be those of the tracer that resumes it.
 */
#ifndef PYUSDT_SESSION_KEPT_SESSION_H
#define PYUSDT_SESSION_KEPT_SESSION_H

#include <stdint.h>

struct pyusdt_session_dir;
struct pyusdt_error;
struct pyusdt_session;
struct pyusdt_session_config;

#pragma GCC visibility push(hidden)

int pyusdt_kept_configure(struct pyusdt_session *session,
                          const struct pyusdt_session_config *config, struct pyusdt_error *error);
/* 1: it is resumed; 0: there is none */
int pyusdt_kept_resume(const struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                       struct pyusdt_error *error);
int pyusdt_kept_check_wants(const struct pyusdt_session *session,
                            const struct pyusdt_session_dir *rundir, struct pyusdt_error *error);
/* Writes into the session files that the tracer lives. */
void pyusdt_kept_write_seen(struct pyusdt_session *session, uint64_t now);

/*
 * The user has seen the events delivered so far. If this tracer is killed, the next tracer of the session does not get these events
 * again. It does get events delivered later, but before the kill, and counts them (`again`).
 */
void pyusdt_session_mark_shown(struct pyusdt_session *session);

/* Whether an earlier tracer left this session, which goes on now. */
int pyusdt_session_is_resumed(const struct pyusdt_session *session);

#pragma GCC visibility pop

#endif
