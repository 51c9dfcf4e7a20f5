/*
 * What ring_target and ring_reader agree on: the probes, and what an event of theirs says, so that the reader can tell a
 * right one from a torn, invented or repeated one.
 */
#ifndef TRACED_H
#define TRACED_H

#include <stdint.h>
#include <stdio.h>

#define MAX_THREADS 256

/* Counted by the target outside of the code under test, in a file of its own that outlives it. */
struct account {
    uint64_t started[MAX_THREADS];  /* firings begun … */
    uint64_t returned[MAX_THREADS]; /* … and ended */
    uint64_t off;                   /* checks that found the probe off */
    uint64_t ready;                 /* published */
    uint64_t alone; /* at the end: its thread took rings as one that is alone does */
};

/* Probe 0 s1, 1 i4s4, 2 … the family n. Arguments of i4s4: thread, sequence, checksum of both, 0; then at 5 a text. */
#define PROBE_I4S4 1
#define TEXT_ARGUMENT 5

static inline uint64_t checksum(uint64_t thread, uint64_t sequence)
{
    return (thread * 0x9e3779b97f4a7c15ull) ^ (sequence * 0xbf58476d1ce4e5b9ull);
}

/* Its length varies, so that events wrap at every offset. */
static inline uint32_t text(uint64_t thread, uint64_t sequence, char *to, size_t size)
{
    static const char filler[] = "................................................................";
    return (uint32_t)snprintf(to, size, "%llu/%llu%.*s", (unsigned long long)thread,
                              (unsigned long long)sequence, (int)(sequence % 61), filler);
}

#endif
