/* The targets of a session, and the living ones by the name of their control file. */
#ifndef PYUSDT_SESSION_TARGET_LIST_H
#define PYUSDT_SESSION_TARGET_LIST_H

#include "session/session_state.h"

#pragma GCC visibility push(hidden)

bool pyusdt_session_has_target(struct pyusdt_session *session,
                               const struct pyusdt_session_dir *rundir,
                               const struct pyusdt_identity *who);
int pyusdt_session_add_target(struct pyusdt_session *session,
                              struct pyusdt_target *target); /* 0 or -ENOMEM */
void pyusdt_session_remove_target(struct pyusdt_session *session,
                                  const struct pyusdt_target *target); /* one that is dead */

#pragma GCC visibility pop

#endif
