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

/* The base of this directory, whose descriptor becomes the session's: one that the session has already, or a new one. */
int pyusdt_base_open(struct pyusdt_session *session, const struct pyusdt_entered *in,
                     struct pyusdt_base **out, struct pyusdt_error *error);
/* Takes a slot there, and starts if the session has started. */
int pyusdt_base_settle(struct pyusdt_session *session, struct pyusdt_base *base,
                       struct pyusdt_error *error);
int pyusdt_base_start(const struct pyusdt_session *session, struct pyusdt_base *base,
                      struct pyusdt_error *error);
void pyusdt_base_invite(struct pyusdt_base *base, uint32_t pid);
void pyusdt_base_close(struct pyusdt_base *base);

bool pyusdt_user_is_cut_off(const struct pyusdt_session *session, uint32_t uid);

#pragma GCC visibility pop

#endif
