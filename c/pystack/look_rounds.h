/*
 * Rounds of looks at several processes, each at its time, for as long as nothing is for the caller.
 */
#ifndef PYUSDT_PYSTACK_LOOK_ROUNDS_H
#define PYUSDT_PYSTACK_LOOK_ROUNDS_H

#include "pystack/stack_looks.h"

struct pyusdt_look_rounds {
    int64_t next, period;    /* nanoseconds; next: of the monotonic clock */
    uint64_t rounds, missed; /* done; for which there was no time */
    bool waits;              /* the wait for `next` was interrupted */
    size_t at;               /* the process whose look is for the caller */
};

#pragma GCC visibility push(hidden)

/* Nanoseconds of the monotonic clock. */
int64_t pyusdt_look_now(void);

/* Waits for the time of the next round and looks at all processes, again and again. Returns
 *
 * - PYUSDT_LOOK_DONE when a round is due that is the caller's: the first one after `until`;
 * - what pyusdt_look() gives of the process rounds->at, if that is anything else: the processes behind it are
 *   the caller's in this round, which is counted;
 * - -EINTR where a signal ended the wait. */
int pyusdt_look_rounds(struct pyusdt_look_rounds *rounds, struct pyusdt_looker *const *lookers,
                       size_t n, int64_t until, const uint64_t **words, size_t *nwords);

#pragma GCC visibility pop

#endif
