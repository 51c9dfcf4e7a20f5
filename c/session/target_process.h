/* One traced process as its tracer sees it: its control file, area and rings, and its death. All that it maps is untrusted. */
#ifndef PYUSDT_SESSION_TARGET_PROCESS_H
#define PYUSDT_SESSION_TARGET_PROCESS_H

#include "events/event.h"
#include "session/session_state.h"

#pragma GCC visibility push(hidden)

struct pyusdt_target *pyusdt_target_open(const struct pyusdt_session *session,
                                         struct pyusdt_session_dir *rundir, const char *text,
                                         const struct pyusdt_identity *who, uint32_t host,
                                         struct pyusdt_error *error);
void pyusdt_target_map_new(struct pyusdt_session *session,
                           struct pyusdt_target *target);  /* maps what is new */
void pyusdt_target_add_work(struct pyusdt_target *target); /* of its rings, to its base */
bool pyusdt_target_is_dead(struct pyusdt_target *target);
void pyusdt_target_finish(struct pyusdt_session *session,
                          struct pyusdt_target *target); /* nothing more to read */
void pyusdt_target_unmap(struct pyusdt_target *target);  /* unmapped; it goes on */
void pyusdt_target_free(struct pyusdt_target *target);
void pyusdt_target_info(const struct pyusdt_target *target, struct pyusdt_target_info *info);

#pragma GCC visibility pop

#endif
