/*
 * Polls a session at the pace at which events come.
 *
 * - A call returns for a reason of the caller's, not for each poll.
 * - The sleep is so short that rings hold the events which come meanwhile, by the pace of the last
 *   polls; without events it is the longest.
 */
#ifndef PYUSDT_CONSUMER_POLL_PACING_H
#define PYUSDT_CONSUMER_POLL_PACING_H

#include "consumer/consumer.h"

#define PYUSDT_POLL_SHORTEST 500000u /* ns of a sleep */
#define PYUSDT_POLL_LONGEST 20000000u

struct pyusdt_poll_pacing {
    uint64_t sleep;  /* ns, after the last poll */
    uint64_t looked; /* when that was */
    bool idle;       /* it found nothing, so how long events take to come is not known */
};

#define PYUSDT_POLL_BEGIN \
    ((struct pyusdt_poll_pacing){PYUSDT_POLL_SHORTEST, 0, true}) /* before the first poll */

/* How long to sleep (ns) after a poll at `now` that gave n events; half_full: a ring was more than half full. */
uint64_t pyusdt_poll_next_sleep(struct pyusdt_poll_pacing *pacing, int n, uint64_t now,
                                bool half_full);

enum {
    PYUSDT_POLL_AGAIN, /* nothing for the caller yet; it has slept until the next poll is worth while, or a signal came */
    PYUSDT_POLL_OVER, /* there are records, or a clause called exit(), or it is `deadline` */
    PYUSDT_POLL_DUE,  /* it is `until`, and all events before that were seen */
};

/* One poll, at most `max` events, none later than `until`; and a sleep if there is nothing for the caller. Times as in
 * events. PYUSDT_LOOK_… or -errno. */
int pyusdt_consumer_poll_paced(struct pyusdt_consumer *c, struct pyusdt_session *session,
                               struct pyusdt_poll_pacing *pacing, uint64_t until, int max,
                               uint64_t deadline);

#endif
