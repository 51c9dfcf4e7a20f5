/* See record_untrim.h.  In a cut record a string takes its bytes with the NUL, rounded up to 8; what is between strings
 * and behind the last one is as in the whole record. */
#include "kernel/record_untrim.h"

#include <string.h>

#include "generated/program.h"

const struct pyusdt_trimmed_string *pyusdt_find_trimmed(const struct pyusdt_trimmed_strings *cuts,
                                                        const uint8_t *record)
{
    uint32_t clause;

    memcpy(&clause, record + PYUSDT_RECORD_CLAUSE, sizeof clause);
    if (clause & (PYUSDT_RECORD_FAULT | PYUSDT_RECORD_SETTLED))
        return NULL; /* records that are not of the clause's own layout */
    clause &= ~PYUSDT_RECORD_FLAGS;
    size_t low = 0, high = cuts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cuts->each[middle].clause < clause)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cuts->count && cuts->each[low].clause == clause ? &cuts->each[low] : NULL;
}

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

void pyusdt_untrim_record(const struct pyusdt_trimmed_strings *cuts,
                          const struct pyusdt_trimmed_string *first, const uint8_t *record,
                          size_t length, uint8_t *to)
{
    const struct pyusdt_trimmed_string *end = cuts->each + cuts->count, *cut = first;
    size_t from = 0, at = 0; /* how much of both is done */

    for (; cut < end && cut->clause == first->clause; cut++) {
        size_t between = min_size(cut->offset - at, length - from);
        memcpy(to + at, record + from, between);
        memset(to + at + between, 0, cut->offset - at - between);
        from += between;
        const uint8_t *nul = memchr(record + from, 0, min_size(cut->size, length - from));
        size_t text = nul ? (size_t)(nul - (record + from)) : min_size(cut->size, length - from);
        memcpy(to + cut->offset, record + from, text);
        memset(to + cut->offset + text, 0, cut->size - text);
        from = min_size(length, from + ((text + 1 + 7) & ~(size_t)7));
        at = cut->offset + cut->size;
    }
    size_t rest = min_size(first->whole - at, length - from);
    memcpy(to + at, record + from, rest);
    memset(to + at + rest, 0, first->whole - at - rest);
}
