/*
 * Looking at a session's rings at the pace at which events come.
 *
 * In:  a consumer, its session; what the caller waits for. Out: the clauses have run on what was fired meanwhile.
 * Always: a caller is called back for what concerns it, not for each look; rings hold what comes while nobody looks, as far as
 * the last looks can tell; where nothing comes, the sleep is the longest.
 */
#ifndef PYUSDT_CONSUMER_POLL_PACING_H
#define PYUSDT_CONSUMER_POLL_PACING_H

#include "consumer/consumer.h"

#define PYUSDT_POLL_SHORTEST 500000u /* ns of a sleep */
#define PYUSDT_POLL_LONGEST 20000000u

struct pyusdt_poll_pacing {
    uint64_t sleep;  /* ns, after the last look */
    uint64_t looked; /* when that was */
    bool idle;       /* it found nothing, so how long events take to come is not known */
};

#define PYUSDT_POLL_BEGIN \
    ((struct pyusdt_poll_pacing){PYUSDT_POLL_SHORTEST, 0, true}) /* before the first look */

/* How long to sleep (ns) after a look at `now` that found n events; crowded: and a ring that was more than half full. */
uint64_t pyusdt_poll_next_sleep(struct pyusdt_poll_pacing *pacing, int n, uint64_t now,
                                bool half_full);

enum {
    PYUSDT_POLL_AGAIN, /* nothing for the caller yet; it has slept until the next look is worth while, or a signal came */
    PYUSDT_POLL_OVER, /* there are records, or a clause called exit(), or it is `deadline` */
    PYUSDT_POLL_DUE,  /* it is `until`, and all events before that were seen */
};

/* One look, at most `max` events, none later than `until`; and a sleep where there is nothing for the caller. Times as in
 * events. PYUSDT_LOOK_… or -errno. */
int pyusdt_consumer_poll_paced(struct pyusdt_consumer *c, struct pyusdt_session *session,
                               struct pyusdt_poll_pacing *pacing, uint64_t until, int max,
                               uint64_t deadline);

#endif
