/* The session's probes in one target: enabled when it joins and when it makes new ones, disabled when it leaves. */
#ifndef PYUSDT_SESSION_TARGET_ENABLE_H
#define PYUSDT_SESSION_TARGET_ENABLE_H

#include "session/session_state.h"

#pragma GCC visibility push(hidden)

void pyusdt_target_attach(struct pyusdt_session *session, struct pyusdt_target *target);
void pyusdt_target_detach(struct pyusdt_target *target);
int pyusdt_target_read_new_probes(
    struct pyusdt_session *session,
    struct pyusdt_target *target); /* learns of new probes; 0 or -ENOMEM */
/* Learns the code locations up to this one, and further. 0; -ENOENT: it is not there; -ENOMEM. */
int pyusdt_target_read_places(struct pyusdt_session *session, struct pyusdt_target *target,
                              uint32_t place);

#pragma GCC visibility pop

#endif
