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
    1500000u /* ns; while who has begun to fire may do so at full speed: half a ring */
#define FEW \
    16 /* events after a pause that need no second look soon: at full speed they take a microsecond */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t within(uint64_t ns, uint64_t longest)
{
    return ns < PYUSDT_PACE_SHORTEST ? PYUSDT_PACE_SHORTEST : least(ns, longest);
}

uint64_t pyusdt_pace_next(struct pyusdt_pace *pace, int n, uint64_t now, bool crowded)
{
    uint64_t since = now - pace->looked;
    bool was_idle = pace->idle;

    pace->looked = now;
    pace->idle = n == 0;
    if (n == 0)
        pace->sleep = within(2 * pace->sleep, PYUSDT_PACE_LONGEST);
    else if (crowded)
        pace->sleep = 0;
    else if (was_idle && n > FEW)
        pace->sleep = AFTER_A_PAUSE;
    else
        pace->sleep =
            within(since > LONGEST_BUSY * (uint64_t)n ? LONGEST_BUSY : since * WORTH / (uint64_t)n,
                   LONGEST_BUSY);
    return pace->sleep;
}

static void sleep_until(uint64_t time, uint64_t now)
{
    const uint64_t ns = time > now ? time - now : 0;
    const struct timespec rest = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

    if (ns > 0)
        nanosleep(&rest, NULL);
}

int pyusdt_consumer_look(struct pyusdt_consumer *c, struct pyusdt_session *session,
                         struct pyusdt_pace *pace, uint64_t until, int max, uint64_t deadline)
{
    const struct pyusdt_feed feed = {&pyusdt_session_feed, session};
    uint64_t
        begun = pyusdt_now(),
        now,
        sleep; /* a tick that comes during the look is the next one's: it may not have seen all */
    int n = pyusdt_consumer_poll(c, &feed, until, max);
    size_t records;

    if (n < 0)
        return n;
    now = pyusdt_now();
    sleep = pyusdt_pace_next(pace, n, now, pyusdt_session_crowded(session));
    pyusdt_consumer_records(c, &records);
    if (records > 0 || pyusdt_consumer_exiting(c))
        return PYUSDT_LOOK_OVER;
    if (n < max && begun >= until)
        return PYUSDT_LOOK_DUE;
    if (now >= deadline)
        return PYUSDT_LOOK_OVER;
    if (n < max)
        sleep_until(least(now + sleep, least(until, deadline)), now);
    return PYUSDT_LOOK_AGAIN;
}
