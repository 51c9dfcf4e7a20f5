/*
 * Samples of stacks that are known: each different stack once, and for each sample which stack it
 * has, which thread it is of and when it was taken.
 *
 * - Everything is bounded: a caller that hears -ENOSPC takes what is there, and begins anew.
 */
#ifndef PYUSDT_PYSTACK_STACK_COUNTS_H
#define PYUSDT_PYSTACK_STACK_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PYUSDT_STACK_COUNTS_STACKS = 1 << 15,
    PYUSDT_STACK_COUNTS_WORDS = 1 << 20,
    PYUSDT_STACK_COUNTS_SAMPLES = 1 << 12,
};

/* Words of a stack: flags, number of frames, then two words a frame. */
enum { PYUSDT_STACK_COUNTS_HEAD = 2 };

struct pyusdt_stack_counts {
    uint64_t *words; /* of all stacks, one behind the other */
    size_t nwords;
    size_t *begins; /* where each begins in the words */
    uint32_t nstacks;
    uint32_t *slots; /* numbers of stacks, from 1 on */

    uint64_t *samples; /* thread << 32 | stack */
    double *times;     /* seconds of the monotonic clock */
    uint32_t nsamples;
};

#pragma GCC visibility push(hidden)

/* 0, -ENOMEM. */
int pyusdt_stack_counts_open(struct pyusdt_stack_counts *counts);
void pyusdt_stack_counts_close(struct pyusdt_stack_counts *counts);

/* One sample. frames: two words each; of a position only whether `lines` count. 0, -ENOSPC. */
int pyusdt_stack_counts_add(struct pyusdt_stack_counts *counts, uint32_t thread, uint64_t flags,
                            const uint64_t *frames, size_t n, bool lines, double at);

/* Whether there is little room left. */
bool pyusdt_stack_counts_is_full(const struct pyusdt_stack_counts *counts);
void pyusdt_stack_counts_clear(struct pyusdt_stack_counts *counts);

#pragma GCC visibility pop

#endif
