/* See kernel_ring.h.  Source of the layout: Linux Documentation/bpf/ringbuf.rst: a page with the consumer's
 * position, a page with the producer's, then the data, mapped twice so that no record is in two parts. */
#include "tracer/kernel_ring.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "generated/program.h"

enum { HEADER = 8 };                                      /* bytes before a record */
static const uint32_t BUSY = 1u << 31, DISCARD = 1u << 30; /* in the header's first word, the rest is its length */

struct pyusdt_kernel_ring {
    uint64_t *consumer;
    const uint64_t *producer;
    const uint8_t *data;
    uint64_t size;
    size_t page;
    uint8_t *taken, *sorted;        /* each `size` bytes */
    struct place *places, *scratch; /* of the records in `taken` */
    size_t room;                    /* of both */
};

struct place {
    uint64_t time;
    uint32_t offset, size;
};

int pyusdt_kernel_ring_open(int fd, uint64_t size, struct pyusdt_kernel_ring **out, struct pyusdt_error *err)
{
    struct pyusdt_kernel_ring *r = calloc(1, sizeof *r);
    if (!r)
        return pyusdt_error_set(err, -ENOMEM, "no memory for the ring buffer");
    r->size = size;
    r->page = (size_t)sysconf(_SC_PAGESIZE);
    void *consumer = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *producer = mmap(NULL, r->page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
    r->consumer = consumer == MAP_FAILED ? NULL : consumer;
    r->producer = producer == MAP_FAILED ? NULL : producer;
    r->taken = malloc(size);
    r->sorted = malloc(size);
    if (!r->consumer || !r->producer || !r->taken || !r->sorted) {
        int code = -errno;
        pyusdt_kernel_ring_close(r);
        return pyusdt_error_set(err, code, "the ring buffer can not be mapped: %s", strerror(-code));
    }
    r->data = (const uint8_t *)r->producer + r->page;
    *out = r;
    return 0;
}

void pyusdt_kernel_ring_close(struct pyusdt_kernel_ring *r)
{
    if (!r)
        return;
    if (r->consumer)
        munmap(r->consumer, r->page);
    if (r->producer)
        munmap((void *)r->producer, r->page + 2 * r->size);
    free(r->taken);
    free(r->sorted);
    free(r->places);
    free(r->scratch);
    free(r);
}

/* Room for n places; false: no memory. */
static bool reserve(struct pyusdt_kernel_ring *r, size_t n)
{
    if (n <= r->room)
        return true;
    size_t room = r->room ? r->room * 2 : 1024;
    struct place *places = realloc(r->places, room * sizeof *places);
    if (places)
        r->places = places;
    struct place *scratch = realloc(r->scratch, room * sizeof *scratch);
    if (scratch)
        r->scratch = scratch;
    if (!places || !scratch)
        return false;
    r->room = room;
    return true;
}

/* A stable merge sort by time, bottom up; the result is in r->places. */
static void sort(struct pyusdt_kernel_ring *r, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n, end = middle + width < n ? middle + width : n;
            size_t a = start, b = middle;
            for (size_t to = start; to < end; to++)
                r->scratch[to] = b == end || (a < middle && r->places[a].time <= r->places[b].time) ? r->places[a++]
                                                                                                     : r->places[b++];
        }
        struct place *swap = r->places;
        r->places = r->scratch;
        r->scratch = swap;
    }
}

static const uint8_t *in_order(struct pyusdt_kernel_ring *r, size_t n)
{
    sort(r, n);
    uint8_t *to = r->sorted;
    for (size_t i = 0; i < n; i++) {
        memcpy(to, r->taken + r->places[i].offset, r->places[i].size);
        to += r->places[i].size;
    }
    return r->sorted;
}

const uint8_t *pyusdt_kernel_ring_take(struct pyusdt_kernel_ring *r, size_t *size)
{
    uint64_t at = *r->consumer, latest = 0; /* only we write the consumer's position */
    uint64_t end = __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
    size_t n = 0, used = 0;
    bool ordered = true;
    while (at < end) {
        const uint8_t *record = r->data + (at & (r->size - 1));
        uint32_t header = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
        if (header & BUSY || !reserve(r, n + 1))
            break;
        uint32_t length = header & ~(BUSY | DISCARD);
        if (!(header & DISCARD)) {
            uint64_t time;
            memcpy(r->taken + used, record + HEADER, length);
            memcpy(&time, record + HEADER + PYUSDT_RECORD_TIME, sizeof time);
            ordered = ordered && time >= latest;
            latest = time;
            r->places[n++] = (struct place){time, (uint32_t)used, length};
            used += length;
        }
        at += (length + HEADER + 7) & ~7ull;
    }
    const uint8_t *records = ordered ? r->taken : in_order(r, n);
    __atomic_store_n(r->consumer, at, __ATOMIC_RELEASE);
    *size = used;
    return records;
}
