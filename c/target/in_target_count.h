/* The hot path of counting in the target (see in_target_count.c). */
#ifndef PYUSDT_IN_TARGET_COUNT_H
#define PYUSDT_IN_TARGET_COUNT_H

#include "target/target.h"
#include "shared/os.h"

#pragma GCC visibility push(hidden)

/* The decision for a place that is new to the session, or in a new row: PYUSDT_HOW_…. */
uint8_t pyusdt_count_decide(unsigned number, unsigned probe, uint32_t place, uint64_t wanted)
    __attribute__((noinline, cold));

#pragma GCC visibility pop

#define PYUSDT_COUNT_CHECK_EACH \
    65536u /* firings at one location, after which a thread checks whether the tracer lives */

enum pyusdt_counted {
    PYUSDT_COUNT_NOT, /* the session gets an event */
    PYUSDT_COUNT_DONE,
    PYUSDT_COUNT_CHECK, /* done, and it is time for pyusdt_slot_check_tracer() */
    PYUSDT_COUNT_NEW,   /* nothing is done: first pyusdt_count_decide() */
};

static inline struct pyusdt_counts *pyusdt_counts_of(const struct pyusdt_area *area)
{
    return (struct pyusdt_counts *)(uintptr_t)((const char *)area + PYUSDT_AREA_COUNTS);
}

static inline _Atomic uint8_t *pyusdt_count_mode(const struct pyusdt_counting *counting,
                                                 uint32_t row, uint32_t place)
{
    return &counting->mode[(size_t)row * PYUSDT_MAX_PLACES + place - 1];
}

/* Adds one. If the word belongs to another session, this session has ended, and nothing counts for
 * it any more. */
static inline enum pyusdt_counted pyusdt_count_add(_Atomic uint64_t *word, uint64_t generation)
{
    uint64_t old = atomic_load_explicit(word, memory_order_relaxed);

    do
        if (PYUSDT_UNLIKELY(PYUSDT_COUNT_TAG(old) != PYUSDT_COUNT_TAG(generation)))
            return PYUSDT_COUNT_DONE;
    while (!atomic_compare_exchange_weak_explicit(word, &old, old + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
    return PYUSDT_UNLIKELY(old % PYUSDT_COUNT_CHECK_EACH == PYUSDT_COUNT_CHECK_EACH - 1)
               ? PYUSDT_COUNT_CHECK
               : PYUSDT_COUNT_DONE;
}

/* Calls nothing: occasional work is left to the caller, so that no registers need to be saved for
 * it. */
static inline enum pyusdt_counted pyusdt_count_fast(const struct pyusdt_slot *slot,
                                                    const struct pyusdt_demand *demand,
                                                    uint32_t place, uint64_t wanted)
{
    uint32_t row = atomic_load_explicit(&demand->row, memory_order_relaxed);
    enum pyusdt_counted counted;
    uint8_t mode;

    if (row == 0)
        return PYUSDT_COUNT_NOT;
    mode = atomic_load_explicit(pyusdt_count_mode(&slot->counting, row - 1, place),
                                memory_order_acquire);
    if (mode != PYUSDT_COUNT_MODE_COUNTS)
        return PYUSDT_UNLIKELY(mode == PYUSDT_COUNT_MODE_UNKNOWN) ? PYUSDT_COUNT_NEW
                                                                  : PYUSDT_COUNT_NOT;
    PYUSDT_HOOK(8);
    counted =
        pyusdt_count_add(&pyusdt_counts_of(atomic_load_explicit(&slot->area, memory_order_relaxed))
                              ->at[row - 1][place - 1],
                         wanted);
    PYUSDT_HOOK(9);
    return counted;
}

#endif
