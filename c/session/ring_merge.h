/*
 * Events of all rings of a session in the order of their time, each once.
 *
 * A poll delivers an event only when no older one can come any more. The exception is a producer that is inside a firing for longer
 * than the session waits: its late events are delivered then, and counted as out of order.
 */
#ifndef PYUSDT_SESSION_RING_MERGE_H
#define PYUSDT_SESSION_RING_MERGE_H

#include "events/event.h"

struct pyusdt_session;
struct pyusdt_source;

#pragma GCC visibility push(hidden)

/*
 * Delivers events with time <= until_ns (UINT64_MAX: as far as is safe), at most max_events (0: no bound); returns how
 * many. It also finds new processes and rings. Never waits: call it again after a while.
 */
int pyusdt_session_poll(struct pyusdt_session *session, uint64_t until_ns, int max_events,
                        pyusdt_event_fn *fn, void *arg);

/* As pyusdt_session_poll(), by a function that delivers what is there in all shares, calling pyusdt_session_deliver(); it sets
 * *stop to end the poll. */
typedef int pyusdt_deliver_fn(void *arg, struct pyusdt_session *session, uint64_t until_ns,
                              int max_events, bool *stop);
int pyusdt_session_poll_by(struct pyusdt_session *session, uint64_t until_ns, int max_events,
                           pyusdt_deliver_fn *deliver, void *arg);

/* Events of one share that were there at the last refresh; how many. *stop is set when fn returns nonzero. */
int pyusdt_session_deliver(struct pyusdt_session *session, uint32_t share, uint64_t until_ns,
                           int max_events, pyusdt_event_fn *fn, void *arg, bool *stop);

/* Finds new processes, rings and events. */
void pyusdt_session_refresh(struct pyusdt_session *session);

/* Passes over the events that were not delivered. How many there were; by_probe: and of which probes, unless it is NULL. */
uint64_t pyusdt_source_drop_events(struct pyusdt_session *session, struct pyusdt_source *source,
                                   uint64_t *by_probe);

/* Everything older than this has been delivered (but for what will be counted as out of order). */
uint64_t pyusdt_session_watermark(const struct pyusdt_session *session);

/* Whether a ring was more than half full at the last refresh: a caller that sleeps now may lose events. */
bool pyusdt_session_is_half_full(const struct pyusdt_session *session);

/* --- several readers: consumer/parallel_consumers.h --- */

/* Before start: the rings are in this many shares. The reader of a share sees its events in the order of their time; there is no order
 * between shares. 0 or -errno. pyusdt_session_poll() is for a session of one share. */
int pyusdt_session_make_shares(struct pyusdt_session *session, uint32_t shares);

/* From now on several threads deliver, each its own shares, and nothing else is done with the session, until this is taken back. An
 * event of a probe or a code location that the session does not know yet stays, as does one for which fn returns PYUSDT_EVENT_DEFERRED. */
void pyusdt_session_set_concurrent(struct pyusdt_session *session, bool concurrent);
bool pyusdt_session_has_deferred(const struct pyusdt_session *session,
                                 uint32_t share); /* an event stayed at the last delivery */
uint64_t pyusdt_session_unread_bytes(const struct pyusdt_session *session,
                                     uint32_t share); /* bytes that it has to read */

#pragma GCC visibility pop

#endif
