/* See heap_table.h. */
#define _GNU_SOURCE
#include "_core_c/heap_table.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { HEAD = 2 }; /* words of a stack before its frames */

uint16_t pyusdt_heap_buckets[PYUSDT_HEAP_BUCKETS];

void pyusdt_heap_empty_buckets(void)
{
    memset(pyusdt_heap_buckets, 0, sizeof pyusdt_heap_buckets);
}

static void set_head(struct pyusdt_heap *heap)
{
    heap->magic = PYUSDT_HEAP_MAGIC;
    heap->version = PYUSDT_HEAP_VERSION;
    heap->samples_at = offsetof(struct pyusdt_heap, samples);
    heap->words_at = offsetof(struct pyusdt_heap, words);
    heap->used = heap->nwords = 1;
}

struct pyusdt_heap *pyusdt_heap_map(void)
{
    struct pyusdt_heap *heap =
        mmap(NULL, sizeof *heap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (heap == MAP_FAILED)
        return NULL;
    set_head(heap);
    return heap;
}

void pyusdt_heap_clear(struct pyusdt_heap *heap)
{
    pyusdt_heap_empty_buckets();
    memset(heap->samples, 0, heap->used * sizeof heap->samples[0]);
    memset(heap->slots, 0, sizeof heap->slots);
    memset(heap->words, 0, heap->nwords * sizeof heap->words[0]);
    heap->free = 0;
    heap->allocated = heap->no_room = heap->other_threads = 0;
    heap->is_displaced = heap->nstacks = 0;
    set_head(heap);
}

uint16_t pyusdt_heap_find(const struct pyusdt_heap *heap, const void *address)
{
    uint16_t number =
        __atomic_load_n(&pyusdt_heap_buckets[pyusdt_heap_bucket(address)], __ATOMIC_RELAXED);

    /* a thread without the lock may meet a chain that changes, and go from one to another */
    for (uint32_t left = PYUSDT_HEAP_SAMPLES; number != 0 && left > 0; left--) {
        const struct pyusdt_heap_sample *sample = &heap->samples[number];

        if (__atomic_load_n(&sample->address, __ATOMIC_ACQUIRE) == (uintptr_t)address)
            return number;
        number = __atomic_load_n(&sample->next, __ATOMIC_RELAXED);
    }
    return 0;
}

static void unlink_sample(struct pyusdt_heap *heap, uint16_t number, uint16_t *link)
{
    for (; *link != 0; link = &heap->samples[*link].next)
        if (*link == number) {
            __atomic_store_n(link, heap->samples[number].next, __ATOMIC_RELAXED);
            return;
        }
}

void pyusdt_heap_remove(struct pyusdt_heap *heap, uint16_t number, int is_owner)
{
    struct pyusdt_heap_sample *sample = &heap->samples[number];
    void *address = (void *)(uintptr_t)sample->address;

    __atomic_store_n(&sample->address, 0, __ATOMIC_RELEASE);
    if (!is_owner || address == NULL)
        return;
    unlink_sample(heap, number, &pyusdt_heap_buckets[pyusdt_heap_bucket(address)]);
    sample->next = heap->free;
    heap->free = number;
}

static uint16_t take_place(struct pyusdt_heap *heap)
{
    uint16_t number = heap->free;

    if (number != 0) {
        heap->free = heap->samples[number].next;
        return number;
    }
    return heap->used <= PYUSDT_HEAP_SAMPLES ? (uint16_t)heap->used++ : 0;
}

/* ---- stacks ---- */

static uint64_t hash_frames(const struct pyusdt_heap_frame *frames, uint32_t n)
{
    uint64_t hash = 0xcbf29ce484222325ULL;

    for (uint32_t i = 0; i < n; i++) {
        hash = (hash ^ frames[i].code) * 0x9e3779b97f4a7c15ULL;
        hash = (hash ^ hash >> 29 ^ frames[i].instr) * 0x9e3779b97f4a7c15ULL;
    }
    return hash ^ hash >> 32;
}

static int is_same_stack(const uint64_t *words, uint64_t hash, uint64_t count,
                         const struct pyusdt_heap_frame *frames, uint32_t n)
{
    return words[0] == hash && words[1] == count &&
           memcmp(words + HEAD, frames, n * sizeof *frames) == 0;
}

/* Its place in words; 0: there is no room. */
static uint32_t intern_stack(struct pyusdt_heap *heap, const struct pyusdt_heap_frame *frames,
                             uint32_t n, int has_more, int *is_new)
{
    uint64_t hash = hash_frames(frames, n), count = n | (uint64_t)(has_more != 0) << 32;
    uint32_t size = HEAD + n * (uint32_t)(sizeof *frames / sizeof(uint64_t)), at;
    uint32_t slot = (uint32_t)hash % PYUSDT_HEAP_SLOTS;

    for (; heap->slots[slot] != 0; slot = (slot + 1) % PYUSDT_HEAP_SLOTS)
        if (is_same_stack(heap->words + heap->slots[slot], hash, count, frames, n))
            return heap->slots[slot];
    if (heap->nstacks == PYUSDT_HEAP_STACKS || heap->nwords + size > PYUSDT_HEAP_WORDS)
        return 0;
    at = heap->nwords;
    heap->words[at] = hash;
    heap->words[at + 1] = count;
    memcpy(heap->words + at + HEAD, frames, n * sizeof *frames);
    heap->nwords += size;
    heap->nstacks++;
    heap->slots[slot] = at;
    *is_new = 1;
    return at;
}

void pyusdt_heap_add(struct pyusdt_heap *heap, const struct pyusdt_heap_sample *sample,
                     const struct pyusdt_heap_frame *frames, uint32_t n, int has_more, int *is_new)
{
    uint16_t number = take_place(heap);
    uint16_t *bucket = &pyusdt_heap_buckets[pyusdt_heap_bucket((void *)(uintptr_t)sample->address)];
    struct pyusdt_heap_sample *to = &heap->samples[number];

    *is_new = 0;
    heap->allocated += sample->weight;
    if (number == 0) {
        heap->no_room++;
        return;
    }
    to->size = sample->size;
    to->weight = sample->weight;
    to->born = sample->born;
    to->stack = intern_stack(heap, frames, n, has_more, is_new);
    to->next = *bucket;
    to->serial++;
    __atomic_store_n(&to->address, sample->address, __ATOMIC_RELEASE);
    __atomic_store_n(bucket, number, __ATOMIC_RELEASE);
}
