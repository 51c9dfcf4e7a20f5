/*
 * Events that are only counted so far, so that the clauses of a probe run once for many.
 *
 * - Each count that is put in is taken out once, in no particular order of probes.
 */
#ifndef PYUSDT_CONSUMER_PENDING_COUNTS_H
#define PYUSDT_CONSUMER_PENDING_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

enum { PYUSDT_PENDING_SLOTS = 1024 }; /* a power of two */

struct pyusdt_pending_count {
    uint32_t target, probe, place;
    uint32_t id;
    uint32_t events; /* 0: nothing is here */
};

struct pyusdt_pending_counts {
    struct pyusdt_pending_count at[PYUSDT_PENDING_SLOTS];
    uint32_t used[PYUSDT_PENDING_SLOTS]; /* places in `at` that are not empty */
    uint32_t n;
};

static inline struct pyusdt_pending_count *
pyusdt_pending_slot(struct pyusdt_pending_counts *pending, uint32_t target, uint32_t probe,
                    uint32_t place)
{
    uint32_t hash = (target * 0x9e3779b1u ^ probe) * 0x85ebca6bu ^ place * 0xc2b2ae35u;
    return &pending->at[(hash ^ hash >> 16) % PYUSDT_PENDING_SLOTS];
}

/* One event more of what is there already; false: it is not. */
static inline bool pyusdt_pending_add_one(struct pyusdt_pending_counts *pending, uint32_t target,
                                          uint32_t probe, uint32_t place)
{
    struct pyusdt_pending_count *found = pyusdt_pending_slot(pending, target, probe, place);
    if (found->events == 0 || found->target != target || found->probe != probe ||
        found->place != place)
        return false;
    found->events++;
    return true;
}

/* Put it in. What is in its place, to be run instead: its events are 0 if there is nothing. */
static inline struct pyusdt_pending_count pyusdt_pending_put(struct pyusdt_pending_counts *pending,
                                                             struct pyusdt_pending_count it)
{
    struct pyusdt_pending_count *at = pyusdt_pending_slot(pending, it.target, it.probe, it.place),
                                before = *at;
    if (before.events == 0)
        pending->used[pending->n++] = (uint32_t)(at - pending->at);
    *at = it;
    return before;
}

/* Take one out; false: all are. */
static inline bool pyusdt_pending_take(struct pyusdt_pending_counts *pending,
                                       struct pyusdt_pending_count *it)
{
    if (pending->n == 0)
        return false;
    struct pyusdt_pending_count *at = &pending->at[pending->used[--pending->n]];
    *it = *at;
    at->events = 0;
    return true;
}

#endif
