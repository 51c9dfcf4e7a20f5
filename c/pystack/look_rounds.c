/* See look_rounds.h. */
#include "pystack/look_rounds.h"

#include <errno.h>
#include <time.h>

enum { SECOND = 1000000000 };

int64_t pyusdt_look_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* 0, or -EINTR: `next` stays. */
static int wait_for_round(struct pyusdt_look_rounds *rounds)
{
    int64_t now = pyusdt_look_now();
    struct timespec when;

    if (!rounds->waits)
        rounds->next += rounds->period;
    if (now - rounds->next > rounds->period) {
        uint64_t missed = (uint64_t)((now - rounds->next) / rounds->period);

        rounds->missed += missed;
        rounds->next += (int64_t)missed * rounds->period;
    }
    when = (struct timespec){rounds->next / SECOND, rounds->next % SECOND};
    rounds->waits =
        now < rounds->next && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR;
    return rounds->waits ? -EINTR : 0;
}

static int look_at_all(struct pyusdt_look_rounds *rounds, struct pyusdt_looker *const *lookers,
                       size_t n, const uint64_t **words, size_t *nwords)
{
    int r = PYUSDT_LOOK_DONE;

    for (size_t i = 0; i < n && r == PYUSDT_LOOK_DONE; i++) {
        rounds->at = i;
        r = pyusdt_look(lookers[i], false, words, nwords);
    }
    rounds->rounds++;
    return r;
}

int pyusdt_look_rounds(struct pyusdt_look_rounds *rounds, struct pyusdt_looker *const *lookers,
                       size_t n, int64_t until, const uint64_t **words, size_t *nwords)
{
    int r = wait_for_round(rounds);

    *nwords = 0;
    while (r == 0 && n && rounds->next < until) {
        r = look_at_all(rounds, lookers, n, words, nwords);
        if (r == PYUSDT_LOOK_DONE)
            r = wait_for_round(rounds);
    }
    return r;
}
