/*
 * The sampled blocks that live, with the stacks of their allocations, in memory that a tracer reads
 * from outside (src/pydtrace/remote_python/heap_table.py has the same numbers).
 *
 * - Only the thread that holds the main interpreter's lock changes it; others find blocks only.
 * - A sample is published by its address, written last, and withdrawn by address 0: a reader reads
 *   twice and takes what is the same.
 * - The table has room for PYUSDT_HEAP_SAMPLES blocks; those without room are counted.
 */
#ifndef PYUSDT_CORE_HEAP_TABLE_H
#define PYUSDT_CORE_HEAP_TABLE_H

#include <stdint.h>

enum {
    PYUSDT_HEAP_VERSION = 1,
    PYUSDT_HEAP_BUCKETS = 1 << 13,
    PYUSDT_HEAP_SAMPLES = (1 << 16) - 1,
    PYUSDT_HEAP_FRAMES = 128, /* of a stack, the innermost ones */
    PYUSDT_HEAP_SLOTS = 1 << 15,
    PYUSDT_HEAP_STACKS = 3 << 13,
    PYUSDT_HEAP_WORDS = 1 << 20,
};

#define PYUSDT_HEAP_MAGIC 0x7061656864737970ULL

/* code: a reference is held until the end; instr: as the interpreter's frame has it. */
struct pyusdt_heap_frame {
    uint64_t code, instr;
};

struct pyusdt_heap_sample {
    uint64_t address, size, weight, born; /* weight: bytes that it stands for; born: monotonic ns */
    uint32_t stack;                       /* its place in words; 0: there was no room for it */
    uint16_t next;                        /* of its bucket, or of the free ones; 0: none */
    uint16_t serial;                      /* counts the blocks that had this place */
};

struct pyusdt_heap {
    uint64_t magic;
    uint32_t version, is_on;
    uint64_t mean, began, until;     /* ns: it ends by itself then */
    uint64_t allocated;              /* bytes since it began, estimated by the samples */
    uint64_t no_room, other_threads; /* samples that were not kept */
    uint32_t is_displaced;           /* another tool has taken the hooks out of the allocators */
    uint32_t used, nstacks, nwords;  /* used: of samples, the first one is no sample */
    uint32_t samples_at, words_at;   /* distances from the beginning */
    uint16_t free, unused[3];
    struct pyusdt_heap_sample samples[PYUSDT_HEAP_SAMPLES + 1];
    uint32_t slots[PYUSDT_HEAP_SLOTS];
    uint64_t words
        [PYUSDT_HEAP_WORDS]; /* of a stack: hash, frames (their number; bit 32: there are more), the frames */
};

/* Of each bucket its first sample's number; 0: it is empty.  Not in the table, so that a free needs no pointer to it. */
extern uint16_t pyusdt_heap_buckets[PYUSDT_HEAP_BUCKETS] __attribute__((visibility("hidden")));

/* NULL: no memory.  It stays for the process's life. */
struct pyusdt_heap *pyusdt_heap_map(void);

/* Finds nothing any more; the samples stay readable. */
void pyusdt_heap_empty_buckets(void);

/* Empties it; the caller has released the code objects. */
void pyusdt_heap_clear(struct pyusdt_heap *heap);

/* Whether there may be a sample at an address; as often as blocks are freed. */
static inline uint32_t pyusdt_heap_bucket(const void *address)
{
    return ((uint32_t)((uintptr_t)address >> 4) * 2654435761u) >> 19;
}

static inline int pyusdt_heap_may_have(const void *address)
{
    return __atomic_load_n(&pyusdt_heap_buckets[pyusdt_heap_bucket(address)], __ATOMIC_RELAXED) !=
           0;
}

/* The sample's number; 0: there is none. */
uint16_t pyusdt_heap_find(const struct pyusdt_heap *heap, const void *address);

/* is_owner: the caller holds the main interpreter's lock; else the place is lost until the end. */
void pyusdt_heap_remove(struct pyusdt_heap *heap, uint16_t number, int is_owner);

/* frames: n of them, the innermost first; *is_new: the caller has to hold their code objects. */
void pyusdt_heap_add(struct pyusdt_heap *heap, const struct pyusdt_heap_sample *sample,
                     const struct pyusdt_heap_frame *frames, uint32_t n, int has_more, int *is_new);

#endif
