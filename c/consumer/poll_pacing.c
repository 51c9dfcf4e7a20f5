/* See poll_pacing.h. */
#define _GNU_SOURCE
#include "consumer/poll_pacing.h"

#include <time.h>

#include "session/ring_merge.h"
#include "session/session_source.h"
#include "shared/os.h"

#define LONGEST_BUSY \
    3000000u       /* ns; while events come: a thread at full speed needs as long to fill a ring */
#define WORTH 2048 /* events that are worth waking up for */
#define AFTER_A_PAUSE \
    1500000u /* ns; a process that has just begun to fire may do so at full speed: half a ring */
#define FEW \
    16 /* events after a pause that need no second poll soon: at full speed they take a microsecond */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t clamp_sleep(uint64_t ns, uint64_t longest)
{
    return ns < PYUSDT_POLL_SHORTEST ? PYUSDT_POLL_SHORTEST : min_u64(ns, longest);
}

uint64_t pyusdt_poll_next_sleep(struct pyusdt_poll_pacing *pacing, int n, uint64_t now,
                                bool half_full)
{
    uint64_t since = now - pacing->looked;
    bool was_idle = pacing->idle;

    pacing->looked = now;
    pacing->idle = n == 0;
    if (n == 0)
        pacing->sleep = clamp_sleep(2 * pacing->sleep, PYUSDT_POLL_LONGEST);
    else if (half_full)
        pacing->sleep = 0;
    else if (was_idle && n > FEW)
        pacing->sleep = AFTER_A_PAUSE;
    else
        pacing->sleep = clamp_sleep(
            since > LONGEST_BUSY * (uint64_t)n ? LONGEST_BUSY : since * WORTH / (uint64_t)n,
            LONGEST_BUSY);
    return pacing->sleep;
}

static void sleep_until(uint64_t time, uint64_t now)
{
    const uint64_t ns = time > now ? time - now : 0;
    const struct timespec rest = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    if (ns > 0)
        nanosleep(&rest, NULL);
}

int pyusdt_consumer_poll_paced(struct pyusdt_consumer *c, struct pyusdt_session *session,
                               struct pyusdt_poll_pacing *pacing, uint64_t until, int max,
                               uint64_t deadline)
{
    const struct pyusdt_event_source feed = {&pyusdt_session_source_ops, session};
    uint64_t
        begun = pyusdt_now(),
        now,
        sleep; /* a tick that comes during the poll is the next poll's: this one may not have seen all events */
    int n = pyusdt_consumer_poll(c, &feed, until, max);
    size_t records;

    if (n < 0)
        return n;
    now = pyusdt_now();
    sleep = pyusdt_poll_next_sleep(pacing, n, now, pyusdt_session_is_half_full(session));
    pyusdt_consumer_records(c, &records);
    if (records > 0 || pyusdt_consumer_is_exiting(c))
        return PYUSDT_POLL_OVER;
    if (n < max && begun >= until)
        return PYUSDT_POLL_DUE;
    if (now >= deadline)
        return PYUSDT_POLL_OVER;
    if (n < max)
        sleep_until(min_u64(now + sleep, min_u64(until, deadline)), now);
    return PYUSDT_POLL_AGAIN;
}
