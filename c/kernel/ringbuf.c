/* See ringbuf.h.  Source of the layout: Linux Documentation/bpf/ringbuf.rst: a page with the consumer's
 * position, a page with the producer's, then the data, mapped twice so that no record is in two parts. */
#include "kernel/ringbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "generated/program.h"

enum { HEADER = 8, WHOLE_MAX = 1 << 20 }; /* bytes before a record; of a record that was cut */
static const uint32_t BUSY = 1u << 31,
                      DISCARD = 1u << 30; /* in the header's first word, the rest is its length */

struct pyusdt_kernel_ring {
    uint64_t *consumer;
    const uint64_t *producer;
    const uint8_t *data;
    uint64_t size;
    size_t page;
    struct pyusdt_trimmed_strings cuts;
    uint8_t *taken, *sorted; /* each `room` bytes */
    size_t room;
    struct place *places, *scratch; /* of the records in `taken` */
    size_t most;                    /* of both */
};

struct place {
    uint64_t time;
    uint32_t offset, size;
};

static int copy_cuts(struct pyusdt_kernel_ring *r, const struct pyusdt_trimmed_strings *cuts)
{
    struct pyusdt_trimmed_string *each = malloc((cuts->count + 1) * sizeof *each);
    if (!each)
        return -ENOMEM;
    for (size_t i = 0; i < cuts->count; i++) {
        const struct pyusdt_trimmed_string *cut = &cuts->each[i], *before = i ? cut - 1 : NULL;
        bool follows = before && before->clause == cut->clause;
        uint32_t from = follows ? before->offset + before->size : PYUSDT_RECORD_DATA;
        if (cut->whole > WHOLE_MAX || cut->offset < from || cut->offset > cut->whole ||
            cut->size > cut->whole - cut->offset || (before && before->clause > cut->clause) ||
            (follows && before->whole != cut->whole)) {
            free(each);
            return -EINVAL;
        }
        each[i] = *cut;
    }
    r->cuts = (struct pyusdt_trimmed_strings){each, cuts->count};
    return 0;
}

int pyusdt_kernel_ring_open(int fd, uint64_t size, const struct pyusdt_trimmed_strings *cuts,
                            struct pyusdt_kernel_ring **out, struct pyusdt_error *err)
{
    struct pyusdt_kernel_ring *r = calloc(1, sizeof *r);
    int code = r ? copy_cuts(r, cuts) : -ENOMEM;
    if (code) {
        free(r);
        return pyusdt_error_set(
            err, code, code == -EINVAL ? "no such strings" : "no memory for the ring buffer");
    }
    r->size = size;
    r->page = (size_t)sysconf(_SC_PAGESIZE);
    void *consumer = mmap(NULL, r->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    void *producer = mmap(NULL, r->page + 2 * size, PROT_READ, MAP_SHARED, fd, (off_t)r->page);
    r->consumer = consumer == MAP_FAILED ? NULL : consumer;
    r->producer = producer == MAP_FAILED ? NULL : producer;
    r->room = size > WHOLE_MAX ? size : WHOLE_MAX;
    r->taken = malloc(r->room);
    r->sorted = malloc(r->room);
    if (!r->consumer || !r->producer || !r->taken || !r->sorted) {
        code = -errno;
        pyusdt_kernel_ring_close(r);
        return pyusdt_error_set(err, code, "the ring buffer cannot be mapped: %s", strerror(-code));
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
    free((void *)r->cuts.each);
    free(r->taken);
    free(r->sorted);
    free(r->places);
    free(r->scratch);
    free(r);
}

/* Room for n places; false: no memory. */
static bool reserve(struct pyusdt_kernel_ring *r, size_t n)
{
    if (n <= r->most)
        return true;
    size_t most = r->most ? r->most * 2 : 1024;
    struct place *places = realloc(r->places, most * sizeof *places);
    if (places)
        r->places = places;
    struct place *scratch = realloc(r->scratch, most * sizeof *scratch);
    if (scratch)
        r->scratch = scratch;
    if (!places || !scratch)
        return false;
    r->most = most;
    return true;
}

/* A stable merge sort by time, bottom up; the result is in r->places. */
static void sort(struct pyusdt_kernel_ring *r, size_t n)
{
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t middle = start + width < n ? start + width : n,
                   end = middle + width < n ? middle + width : n;
            size_t a = start, b = middle;
            for (size_t to = start; to < end; to++)
                r->scratch[to] = b == end || (a < middle && r->places[a].time <= r->places[b].time)
                                     ? r->places[a++]
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

/* Copy a record to where `used` bytes are taken already; its whole size, 0 if there is no room for it. */
static size_t put(struct pyusdt_kernel_ring *r, const uint8_t *record, size_t length, size_t used)
{
    const struct pyusdt_trimmed_string *cut =
        r->cuts.count ? pyusdt_find_trimmed(&r->cuts, record) : NULL;
    size_t whole = cut ? cut->whole : length;
    if (whole > r->room - used)
        return 0;
    if (cut)
        pyusdt_untrim_record(&r->cuts, cut, record, length, r->taken + used);
    else
        memcpy(r->taken + used, record, length);
    return whole;
}

const uint8_t *pyusdt_kernel_ring_read(struct pyusdt_kernel_ring *r, size_t *size)
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
            size_t whole = put(r, record + HEADER, length, used);
            uint64_t time;
            if (!whole)
                break;
            memcpy(&time, record + HEADER + PYUSDT_RECORD_TIME, sizeof time);
            ordered = ordered && time >= latest;
            latest = time;
            r->places[n++] = (struct place){time, (uint32_t)used, (uint32_t)whole};
            used += whole;
        }
        at += (length + HEADER + 7) & ~7ull;
    }
    const uint8_t *records = ordered ? r->taken : in_order(r, n);
    __atomic_store_n(r->consumer, at, __ATOMIC_RELEASE);
    *size = used;
    return records;
}
