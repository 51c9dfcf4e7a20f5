/*
 * A session's bases: the run directories in which it has a slot.
 *
 * - A directory of another user is untrusted: it must belong to the user of its name, and be closed to others. If anything is wrong with
 *   it, only its user's events are missing.
 */
#ifndef PYUSDT_SESSION_SESSION_DIR_H
#define PYUSDT_SESSION_SESSION_DIR_H

#include "session/session_state.h"

#pragma GCC visibility push(hidden)

/* The session's part of this directory, whose descriptor becomes the session's: one that the session has already, or a new one. */
int pyusdt_session_dir_open(struct pyusdt_session *session, const struct pyusdt_rundir_handle *in,
                            struct pyusdt_session_dir **out, struct pyusdt_error *error);
/* Takes a slot there, and starts if the session has started. */
int pyusdt_session_dir_take_slot(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                                 struct pyusdt_error *error);
int pyusdt_session_dir_start(const struct pyusdt_session *session,
                             struct pyusdt_session_dir *rundir, struct pyusdt_error *error);
void pyusdt_session_dir_invite(struct pyusdt_session_dir *rundir, uint32_t pid);
void pyusdt_session_dir_close(struct pyusdt_session_dir *rundir);

bool pyusdt_session_is_user_stopped(const struct pyusdt_session *session, uint32_t uid);

#pragma GCC visibility pop

#endif
