/*
 * Events that were only counted so far: of probes which take turns, so that the clauses of each run once for many.
 *
 * In:  a probe at a place of a target, its id; how many events. Out: the same, when they are to be run.
 * Always: what was put in is given out once; the order in which probes are given out says nothing.
 */
#ifndef PYUSDT_CONSUMER_PENDING_COUNTS_H
#define PYUSDT_CONSUMER_PENDING_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum { PYUSDT_TALLIES = 1024 }; /* a power of two */

struct pyusdt_tallied {
    uint32_t target, probe, place;
    uint32_t id;
    uint32_t events; /* 0: nothing is here */
};

struct pyusdt_tally {
    struct pyusdt_tallied at[PYUSDT_TALLIES];
    uint32_t used[PYUSDT_TALLIES]; /* places in `at` that are not empty */
    uint32_t n;
};

static inline struct pyusdt_tallied *pyusdt_tally_place(struct pyusdt_tally *tally, uint32_t target,
                                                        uint32_t probe, uint32_t place)
{
    uint32_t hash = (target * 0x9e3779b1u ^ probe) * 0x85ebca6bu ^ place * 0xc2b2ae35u;
    return &tally->at[(hash ^ hash >> 16) % PYUSDT_TALLIES];
}

/* One event more of what is there already; false: it is not. */
static inline bool pyusdt_tally_one(struct pyusdt_tally *tally, uint32_t target, uint32_t probe,
                                    uint32_t place)
{
    struct pyusdt_tallied *found = pyusdt_tally_place(tally, target, probe, place);
    if (found->events == 0 || found->target != target || found->probe != probe ||
        found->place != place)
        return false;
    found->events++;
    return true;
}

/* Put it in. What is in its place, to be run instead: its events are 0 if there is nothing. */
static inline struct pyusdt_tallied pyusdt_tally_put(struct pyusdt_tally *tally,
                                                     struct pyusdt_tallied it)
{
    struct pyusdt_tallied *at = pyusdt_tally_place(tally, it.target, it.probe, it.place),
                          before = *at;
    if (before.events == 0)
        tally->used[tally->n++] = (uint32_t)(at - tally->at);
    *at = it;
    return before;
}

/* Take one out; false: all are. */
static inline bool pyusdt_tally_take(struct pyusdt_tally *tally, struct pyusdt_tallied *it)
{
    if (tally->n == 0)
        return false;
    struct pyusdt_tallied *at = &tally->at[tally->used[--tally->n]];
    *it = *at;
    at->events = 0;
    return true;
}

#endif
