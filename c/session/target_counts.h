/*
 * What targets have counted by themselves (struct pyusdt_counts), handed on as one event for each probe and code location.
 *
 * - A firing is handed on once: the step that reads a word also empties it.
 * - A target whose counts are impossible is not asked again; no other target suffers.
 */
#ifndef PYUSDT_SESSION_TARGET_COUNTS_H
#define PYUSDT_SESSION_TARGET_COUNTS_H

#include "events/event.h"

struct pyusdt_session;

#pragma GCC visibility push(hidden)

/*
 * Hands on what targets have counted of those descriptions whose want says `counts`, since the last call: for each probe and code
 * location one event, whose arg[0] is how many firings it stands for. A caller that wants that calls it now and then, and after the last
 * poll: a process that is dead is finished only then.
 */
void pyusdt_session_deliver_counts(struct pyusdt_session *session, pyusdt_event_fn *fn, void *arg);

#pragma GCC visibility pop

#endif
