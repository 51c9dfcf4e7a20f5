/*
 * Several consumers that share the events of a session, a thread each.
 *
 * - The clauses do the same whichever events each consumer gets, and in whatever order: the
 *   compiler checks that (dlang/code/order_dependence.py).
 * - Each event's clauses run once, in one of the consumers. When a poll has ended, all events up to
 *   its time have run.
 * - Threads run only inside a poll, and only on events of known probes, code locations and
 *   processes. The others wait until no thread runs.
 */
#ifndef PYUSDT_CONSUMER_PARALLEL_CONSUMERS_H
#define PYUSDT_CONSUMER_PARALLEL_CONSUMERS_H

#include <stdint.h>

#include "shared/error.h"
#include "consumer/consumer.h"

enum { PYUSDT_PARALLEL_MAX = 64 };

struct pyusdt_parallel;

/* The first of the consumers has described the clauses; the others are made to follow it, and it leads. All and the session, which
 * is not started yet, outlive the crew. 0 or -errno. */
int pyusdt_parallel_new(struct pyusdt_session *session, struct pyusdt_consumer *const *consumers,
                        uint32_t n, struct pyusdt_parallel **out, struct pyusdt_error *err);
void pyusdt_parallel_free(struct pyusdt_parallel *parallel); /* NULL is fine */

/* As pyusdt_session_poll(), by all of them. */
int pyusdt_parallel_poll(struct pyusdt_parallel *parallel, struct pyusdt_session *session,
                         uint64_t until_ns, int max_events);

#endif
