/*
 * Events that a target has dropped, by its own account, and the reason.
 *
 * - Counts never go back.
 * - A target whose counts are impossible is not asked again; what was counted before stays.
 */
#ifndef PYUSDT_SESSION_TARGET_DROPS_H
#define PYUSDT_SESSION_TARGET_DROPS_H

#include "session/session_state.h"

#pragma GCC visibility push(hidden)

uint64_t pyusdt_target_probe_drops(const struct pyusdt_target *target, uint32_t probe);
uint64_t pyusdt_target_total_drops(struct pyusdt_session *session, struct pyusdt_target *target);
void pyusdt_target_copy_drops(struct pyusdt_session *session,
                              struct pyusdt_target *target); /* before its files are unmapped */

/* The most events that it can have fired: since the session began, one in a nanosecond on each processor. */
uint64_t pyusdt_target_max_events(const struct pyusdt_session *session,
                                  const struct pyusdt_target *target);

/* Warns once of a process that cannot make the buffers which the session wants: some of its events are dropped. */
void pyusdt_target_warn_no_buffers(struct pyusdt_session *session, struct pyusdt_target *target);

#pragma GCC visibility pop

#endif
