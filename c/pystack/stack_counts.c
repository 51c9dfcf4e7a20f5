/* See stack_counts.h. */
#include "pystack/stack_counts.h"

#include "pystack/python_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * PYUSDT_STACK_COUNTS_STACKS, WORDS_A_FRAME = 2 };

int pyusdt_stack_counts_open(struct pyusdt_stack_counts *counts)
{
    *counts = (struct pyusdt_stack_counts){
        .words = malloc(PYUSDT_STACK_COUNTS_WORDS * sizeof *counts->words),
        .begins = malloc(PYUSDT_STACK_COUNTS_STACKS * sizeof *counts->begins),
        .slots = calloc(SLOTS, sizeof *counts->slots),
        .samples = malloc(PYUSDT_STACK_COUNTS_SAMPLES * sizeof *counts->samples),
        .times = malloc(PYUSDT_STACK_COUNTS_SAMPLES * sizeof *counts->times),
    };
    if (counts->words && counts->begins && counts->slots && counts->samples && counts->times)
        return 0;
    pyusdt_stack_counts_close(counts);
    return -ENOMEM;
}

void pyusdt_stack_counts_close(struct pyusdt_stack_counts *counts)
{
    free(counts->words);
    free(counts->begins);
    free(counts->slots);
    free(counts->samples);
    free(counts->times);
    *counts = (struct pyusdt_stack_counts){0};
}

static uint32_t hash_words(const uint64_t *words, size_t n)
{
    uint64_t hash = n;

    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 20) & (SLOTS - 1);
}

/* The stack behind the others, not counted yet. */
static size_t put_words(struct pyusdt_stack_counts *counts, uint64_t flags, const uint64_t *frames,
                        size_t n, bool lines)
{
    uint64_t *at = counts->words + counts->nwords;

    *at++ = flags;
    *at++ = n;
    for (size_t i = 0; i < n; i++) {
        *at++ = frames[WORDS_A_FRAME * i] & ~(uint64_t)PYUSDT_FRAME_FIRST;
        *at++ = lines ? frames[WORDS_A_FRAME * i + 1] : 0;
    }
    return (size_t)(at - counts->words) - counts->nwords;
}

static bool is_equal(const struct pyusdt_stack_counts *counts, uint32_t stack,
                     const uint64_t *words, size_t n)
{
    const uint64_t *other = counts->words + counts->begins[stack];

    return PYUSDT_STACK_COUNTS_HEAD + WORDS_A_FRAME * other[1] == n &&
           memcmp(other, words, n * sizeof *words) == 0;
}

/* The number of the stack that was put behind the others. */
static uint32_t number_of(struct pyusdt_stack_counts *counts, size_t n)
{
    const uint64_t *words = counts->words + counts->nwords;
    uint32_t slot = hash_words(words, n);

    while (counts->slots[slot]) {
        if (is_equal(counts, counts->slots[slot] - 1, words, n))
            return counts->slots[slot] - 1;
        slot = (slot + 1) & (SLOTS - 1);
    }
    counts->begins[counts->nstacks] = counts->nwords;
    counts->nwords += n;
    counts->slots[slot] = ++counts->nstacks;
    return counts->nstacks - 1;
}

int pyusdt_stack_counts_add(struct pyusdt_stack_counts *counts, uint32_t thread, uint64_t flags,
                            const uint64_t *frames, size_t n, bool lines, double at)
{
    size_t most = PYUSDT_STACK_COUNTS_HEAD + WORDS_A_FRAME * n;

    if (counts->nstacks == PYUSDT_STACK_COUNTS_STACKS ||
        most > PYUSDT_STACK_COUNTS_WORDS - counts->nwords ||
        counts->nsamples == PYUSDT_STACK_COUNTS_SAMPLES)
        return -ENOSPC;
    most = put_words(counts, flags, frames, n, lines);
    counts->samples[counts->nsamples] = (uint64_t)thread << 32 | number_of(counts, most);
    counts->times[counts->nsamples++] = at;
    return 0;
}

bool pyusdt_stack_counts_is_full(const struct pyusdt_stack_counts *counts)
{
    return counts->nstacks > PYUSDT_STACK_COUNTS_STACKS / 4 * 3 ||
           counts->nwords > PYUSDT_STACK_COUNTS_WORDS / 4 * 3;
}

void pyusdt_stack_counts_clear(struct pyusdt_stack_counts *counts)
{
    memset(counts->slots, 0, SLOTS * sizeof *counts->slots);
    counts->nwords = 0;
    counts->nstacks = counts->nsamples = 0;
}
