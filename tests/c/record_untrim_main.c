/*
 * Trims random strings in records of random layouts as the kernel's programs do, and restores them; then damaged ones, for the sanitizers.
 *
 * - The argument is the number of rounds; it prints "rounds N". Every block has exactly the size of its contents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/program.h"
#include "hook_kill.h"
#include "kernel/record_untrim.h"

enum { CLAUSE = 5, STRINGS = 4 };

static struct pyusdt_trimmed_string strings[STRINGS];

/* Strings at random places; returns how many. */
static size_t lay_out(void)
{
    uint32_t at = PYUSDT_RECORD_DATA, count = 1 + (uint32_t)rand() % STRINGS;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = 8 * (1 + (uint32_t)rand() % 33);
        at += 8 * ((uint32_t)rand() % 4);
        strings[i] = (struct pyusdt_trimmed_string){CLAUSE, 0, at, size};
        at += size;
    }
    at += 8 * ((uint32_t)rand() % 4);
    for (uint32_t i = 0; i < count; i++)
        strings[i].whole = at;
    return count;
}

static uint8_t *fill(size_t count)
{
    uint32_t whole = strings[0].whole,
             clause = CLAUSE | (rand() & 1 ? PYUSDT_RECORD_SPECULATIVE : 0);
    uint8_t *record = malloc(whole);

    for (uint32_t i = 0; i < whole; i++)
        record[i] = (uint8_t)rand();
    memcpy(record + PYUSDT_RECORD_CLAUSE, &clause, sizeof clause);
    for (size_t i = 0; i < count; i++) {
        uint32_t length = (uint32_t)rand() % strings[i].size; /* without the NUL */
        memset(record + strings[i].offset, 'x', length);
        memset(record + strings[i].offset + length, 0, strings[i].size - length);
    }
    return record;
}

/* The record cut, in a block of its size. */
static uint8_t *cut(const uint8_t *record, size_t count, size_t *length)
{
    uint8_t *out = malloc(strings[0].whole);
    size_t at = 0, from = 0;

    for (size_t i = 0; i < count; i++) {
        memcpy(out + at, record + from, strings[i].offset - from);
        at += strings[i].offset - from;
        size_t text = strlen((const char *)record + strings[i].offset) + 1;
        memcpy(out + at, record + strings[i].offset, text);
        at += (text + 7) & ~7u;
        from = strings[i].offset + strings[i].size;
    }
    memcpy(out + at, record + from, strings[0].whole - from);
    *length = at + strings[0].whole - from;
    return realloc(out, *length);
}

static int round_trip(void)
{
    size_t count = lay_out(), length;
    struct pyusdt_trimmed_strings cuts = {strings, count};
    uint8_t *record = fill(count), *small = cut(record, count, &length),
            *whole = malloc(strings[0].whole);
    const struct pyusdt_trimmed_string *found = pyusdt_find_trimmed(&cuts, small);
    int failed = found != strings;

    if (!failed) {
        pyusdt_untrim_record(&cuts, found, small, length, whole);
        failed = memcmp(whole, record, strings[0].whole);
        for (size_t i = PYUSDT_RECORD_DATA; i < length; i++)
            small[i] = (uint8_t)(rand() % 3);
        size_t kept = PYUSDT_RECORD_DATA + (size_t)rand() % (length - PYUSDT_RECORD_DATA + 1);
        small = realloc(small, kept);
        pyusdt_untrim_record(&cuts, found, small, kept, whole);
    }
    free(record);
    free(small);
    free(whole);
    return failed;
}

/* Records of other clauses and of other kinds are not cut. */
static int others(void)
{
    static const uint32_t clauses[] = {CLAUSE - 1, CLAUSE + 1, CLAUSE | PYUSDT_RECORD_FAULT,
                                       CLAUSE | PYUSDT_RECORD_SETTLED};
    struct pyusdt_trimmed_strings cuts = {strings, lay_out()};
    uint8_t record[PYUSDT_RECORD_DATA] = {0};

    for (size_t i = 0; i < sizeof clauses / sizeof *clauses; i++) {
        memcpy(record + PYUSDT_RECORD_CLAUSE, &clauses[i], sizeof *clauses);
        if (pyusdt_find_trimmed(&cuts, record))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 0;

    srand(1);
    for (int i = 0; i < rounds; i++) {
        if (round_trip() || others()) {
            fprintf(stderr, "round %d\n", i);
            return 1;
        }
    }
    printf("rounds %d\n", rounds);
    return 0;
}
