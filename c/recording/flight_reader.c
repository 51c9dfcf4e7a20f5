/*
 * Converts a flight recorder's file into a recording.
 *
 * - An event is copied before the tail is read: everything below the tail may have been overwritten
 *   meanwhile, and is dropped.
 * - The file is untrusted: all is checked before it is used, and a ring ends at the first thing
 *   that makes no sense.
 * - Events come in the order of time, without a hole, from the first instant since which no ring
 *   has lost any.
 */
#define _GNU_SOURCE
#include "recording/flight_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/build_version.h"
#include "events/event_decode.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "recording/recording_file.h"

#define COPY_TRIES 64
#define READ_TRIES \
    16 /* of a process that overwrites what is being read; each begins with younger events */
#define EVENT_ROOM ((PYUSDT_EVENT_MAX + 7) & ~7ull)

struct ring {
    const uint8_t *data; /* shared, twice in a row */
    const struct pyusdt_line *line;
    uint64_t position, head;
    bool lost;    /* events before the first that is read */
    bool waiting; /* event holds the next one, whole */
    _Alignas(8) uint8_t event[EVENT_ROOM];
};

struct flight {
    int fd;
    uint64_t size;        /* of the file */
    const uint8_t *bytes; /* shared: all before the rings */
    struct pyusdt_ctl_header header;
    struct pyusdt_flight_info info;
    struct pyusdt_probe_table table; /* a checked copy */
    struct pyusdt_places places;     /* likewise */
    uint64_t ring_size;
    uint32_t nrings;
    bool overtaken; /* the process has overwritten what was to be read next */
    struct ring *ring[PYUSDT_RINGS_MAX];
    struct pyusdt_record_file out;
};

static const struct pyusdt_area *area_of(const struct flight *f)
{
    return (const void *)(f->bytes + PYUSDT_FLIGHT_AREA);
}

/* ---- header and table ---- */

static bool header_ok(const struct pyusdt_ctl_header *header)
{
    return header->magic == PYUSDT_FLIGHT_MAGIC && header->version == PYUSDT_LAYOUT_VERSION &&
           header->ndescs <= PYUSDT_MAX_PROBES && header->strings_size >= 1 &&
           header->strings_size <= PYUSDT_STRINGS_MAX;
}

/* The table as it is while the process does not change it. */
static int copy_table(struct flight *f)
{
    const struct pyusdt_ctl_header *shared = (const void *)f->bytes;

    for (int i = 0; i < COPY_TRIES; i++) {
        uint32_t changes = atomic_load(&shared->changes);
        uint64_t descs;
        char *copy;

        memcpy(&f->header, shared, sizeof f->header);
        if (!header_ok(&f->header))
            return -EBADMSG;
        descs = f->header.ndescs * sizeof(struct pyusdt_ctl_desc);
        copy = malloc(descs + f->header.strings_size);
        if (!copy)
            return -ENOMEM;
        memcpy(copy, f->bytes + PYUSDT_CTL_DESCS, descs);
        memcpy(copy + descs, f->bytes + PYUSDT_CTL_STRINGS, f->header.strings_size);
        free((void *)(uintptr_t)f->table.descs);
        f->table = (struct pyusdt_probe_table){.descs = (const void *)copy,
                                               .strings = copy + descs,
                                               .ndescs = f->header.ndescs,
                                               .strings_size = f->header.strings_size,
                                               .nprobes = f->header.nprobes};
        atomic_thread_fence(memory_order_seq_cst);
        if (changes % 2 == 0 && atomic_load(&shared->changes) == changes)
            return pyusdt_probe_table_check(&f->table) == 0 ? 0 : -EBADMSG;
        usleep(1000);
    }
    return -EBADMSG;
}

/* Places of before it never change. */
static int copy_places(struct flight *f)
{
    const struct pyusdt_ctl_header *shared = (const void *)f->bytes;
    const struct pyusdt_ctl_places *places =
        pyusdt_places_shared(f->bytes, &f->header, PYUSDT_CTL_SIZE);

    return places ? pyusdt_places_copy(&f->places, places,
                                       atomic_load_explicit(&shared->nplaces, memory_order_acquire))
                  : 0;
}

/* ---- rings ---- */

/* Reads the next event of the ring that is still there, if there is one. */
static void read_next(struct flight *f, struct ring *ring)
{
    ring->waiting = false;
    while (ring->position < ring->head) {
        struct pyusdt_ring_event *event = (void *)ring->event;
        const uint8_t *at = ring->data + (ring->position & (f->ring_size - 1));
        uint64_t available = ring->head - ring->position, tail;
        bool ok = available >= sizeof *event;

        if (ok)
            memcpy(event, at, sizeof *event);
        ok = ok && pyusdt_event_is_header_valid(event, available) &&
             PYUSDT_EVENT_PROBE(event->probe) < f->table.nprobes &&
             PYUSDT_EVENT_PLACE(event->probe) <= f->places.n;
        if (ok)
            memcpy(ring->event + sizeof *event, at + sizeof *event, event->size - sizeof *event);
        atomic_thread_fence(
            memory_order_acquire); /* what was copied was there before the tail that is read now */
        tail = atomic_load_explicit(&ring->line->tail, memory_order_relaxed);
        if (tail > ring->position) {
            ring->position = tail; /* overwritten meanwhile; beyond the head: all of it */
            f->overtaken = true;
            continue;
        }
        if (!ok)
            ring->position = ring->head;
        else
            ring->position += event->size;
        ring->waiting = ok;
        return;
    }
}

static int open_ring(struct flight *f, uint32_t k)
{
    struct ring *ring = calloc(1, sizeof *ring);
    uint64_t at = PYUSDT_FLIGHT_RINGS + k * f->ring_size;

    f->ring[k] = ring;
    if (!ring)
        return -ENOMEM;
    ring->line = &area_of(f)->line[k];
    ring->data = pyusdt_guard_map_twice(NULL, f->ring_size, PROT_READ, f->fd, (off_t)at);
    if (!ring->data)
        return -ENOMEM;
    return 0;
}

/* At the oldest event below the head, but for the first `skip` bytes of a full ring. */
static void seek_oldest(struct flight *f, struct ring *ring, uint64_t skip)
{
    ring->position = atomic_load(&ring->line->tail);
    if (ring->head - ring->position > f->ring_size)
        ring->position =
            ring->head; /* all of it is overwritten since the head was read; or it is nonsense */
    ring->lost = ring->position != 0 || ring->head - ring->position > f->ring_size - skip;
    do
        read_next(f, ring);
    while (ring->waiting && ring->head - ring->position > f->ring_size - skip);
}

static uint64_t time_of(const struct ring *ring)
{
    return ((const struct pyusdt_ring_event *)(const void *)ring->event)->time;
}

/* From when on all events are there: a ring that has lost some begins with the first that it has not. */
static uint64_t complete_since(const struct flight *f)
{
    uint64_t first = 0;

    for (uint32_t k = 0; k < f->nrings; k++)
        if (f->ring[k]->waiting && f->ring[k]->lost && time_of(f->ring[k]) > first)
            first = time_of(f->ring[k]);
    return first;
}

static struct ring *oldest_ring(const struct flight *f)
{
    struct ring *found = NULL;

    for (uint32_t k = 0; k < f->nrings; k++)
        if (f->ring[k]->waiting && (!found || time_of(f->ring[k]) < time_of(found)))
            found = f->ring[k];
    return found;
}

/* ---- the file ---- */

static int open_flight(struct flight *f)
{
    struct stat st;
    uint32_t rings;

    if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode))
        return -EBADMSG;
    if (pread(f->fd, &f->header, sizeof f->header, 0) == (ssize_t)sizeof f->header &&
        f->header.magic == PYUSDT_FLIGHT_MAGIC && f->header.version != PYUSDT_LAYOUT_VERSION)
        return -EPROTONOSUPPORT;
    if ((uint64_t)st.st_size < PYUSDT_FLIGHT_RINGS)
        return -EBADMSG;
    f->size = (uint64_t)st.st_size;
    f->bytes = pyusdt_guard_map(NULL, PYUSDT_FLIGHT_RINGS, PROT_READ, f->fd);
    if (!f->bytes)
        return -ENOMEM;
    memcpy(&f->info, f->bytes + PYUSDT_CTL_SLOTS, sizeof f->info);
    if (f->info.order != PYUSDT_FLIGHT_ORDER)
        return -EILSEQ;
    rings = atomic_load(&area_of(f)->rings);
    f->ring_size = area_of(f)->ring_size;
    if (f->ring_size < PYUSDT_RING_MIN || f->ring_size > PYUSDT_RING_MAX ||
        (f->ring_size & (f->ring_size - 1)) != 0 || rings > PYUSDT_RINGS_MAX ||
        (f->size - PYUSDT_FLIGHT_RINGS) / f->ring_size < rings)
        return -EBADMSG;
    for (int r; f->nrings < rings; f->nrings++)
        if ((r = open_ring(f, f->nrings)) != 0)
            return r;
    return 0;
}

static void write_start(struct flight *f, uint64_t begun)
{
    struct pyusdt_record_header header = {.begun = begun,
                                          .wall = f->info.wall,
                                          .target = f->header.pid,
                                          .pid = f->header.pid,
                                          .uid = f->info.uid,
                                          .gid = f->header.gid};
    struct pyusdt_target_block target = {
        0, 0, f->header.pid, f->header.pid, f->info.uid, f->header.gid, "", {0}};
    struct pyusdt_place_info place;

    memcpy(header.host, f->info.host, sizeof header.host - 1);
    memcpy(target.comm, f->header.comm, sizeof target.comm - 1);
    memcpy(target.ancestors, f->header.ancestors, sizeof target.ancestors);
    pyusdt_record_header(&f->out, header);
    pyusdt_record_table(&f->out, 0, &f->table);
    pyusdt_record_block(&f->out, PYUSDT_BLOCK_TARGET, &target, sizeof target);
    for (uint32_t i = 1; pyusdt_places_get(&f->places, i, &place); i++)
        pyusdt_record_place(&f->out, 0, i, &place);
}

static int write_all(struct flight *f, uint64_t skip)
{
    const struct pyusdt_event_block to = {0, 0};
    struct pyusdt_drops_block loss = {0, 0};
    uint64_t first, last = 0;

    for (uint32_t k = 0; k < f->nrings; k++)
        seek_oldest(f, f->ring[k], skip);
    f->overtaken = false;
    first = complete_since(f);
    write_start(f, first ? first : f->info.begun);
    for (struct ring *ring; (ring = oldest_ring(f)) != NULL && !f->overtaken; read_next(f, ring)) {
        const struct pyusdt_ring_event *event = (const void *)ring->event;
        if (event->time < first)
            continue;
        pyusdt_record_begin(&f->out, PYUSDT_BLOCK_EVENT, sizeof to + event->size);
        pyusdt_record_put(&f->out, &to, sizeof to);
        pyusdt_record_put(&f->out, event, event->size);
        last = event->time;
    }
    for (uint32_t probe = 0; probe < f->table.nprobes; probe++)
        loss.dropped += atomic_load(&area_of(f)->drops[probe]);
    pyusdt_record_block(&f->out, PYUSDT_BLOCK_DROPS, &loss, sizeof loss);
    pyusdt_record_block(&f->out, PYUSDT_BLOCK_END, &last, sizeof last);
    return pyusdt_record_flush(&f->out);
}

/* 0; -EAGAIN: the process writes faster than can be read. */
static int write_whole(struct flight *f)
{
    for (unsigned i = 0; i < READ_TRIES; i++) {
        int r;
        for (uint32_t k = 0; k < f->nrings;
             k++) /* before the table: an event below it is of a probe that is there by then */
            f->ring[k]->head = atomic_load_explicit(&f->ring[k]->line->head, memory_order_acquire);
        r = copy_table(f);
        if (r == 0)
            r = copy_places(f);
        if (r == 0)
            r = write_all(f, f->ring_size / READ_TRIES * i);
        if (r != 0 || !f->overtaken)
            return r;
        f->out.size = 0;
        if (lseek(f->out.fd, 0, SEEK_SET) != 0 || ftruncate(f->out.fd, 0) != 0)
            return -errno;
    }
    return -EAGAIN;
}

static void close_flight(struct flight *f)
{
    for (uint32_t k = 0; k < PYUSDT_RINGS_MAX && f->ring[k]; k++) {
        if (f->ring[k]->data)
            pyusdt_guard_unmap((void *)(uintptr_t)f->ring[k]->data, 2 * f->ring_size);
        free(f->ring[k]);
    }
    if (f->bytes)
        pyusdt_guard_unmap((void *)(uintptr_t)f->bytes, PYUSDT_FLIGHT_RINGS);
    free((void *)(uintptr_t)f->table.descs);
    pyusdt_places_free(&f->places);
    close(f->fd);
    free(f);
}

int pyusdt_flight_convert(int fd, struct pyusdt_error *error)
{
    struct flight *f = calloc(1, sizeof *f);
    struct pyusdt_ctl_header other;
    int r, out;

    if (!f) {
        close(fd);
        return pyusdt_error_set(error, -ENOMEM, "no memory for a flight recorder's file");
    }
    f->fd = fd;
    f->out.fd = out = pyusdt_os_open_unnamed();
    r = out < 0 ? out : open_flight(f);
    if (r == 0)
        r = write_whole(f);
    if (r == 0 && lseek(out, 0, SEEK_SET) != 0)
        r = -errno;
    other = f->header;
    close_flight(f);
    if (r == 0)
        return out;
    if (out >= 0)
        close(out);
    if (r == -EBADMSG)
        return pyusdt_error_set(error, r, "not a flight recorder's file, or only a part of one");
    if (r == -EPROTONOSUPPORT)
        return pyusdt_build_set_error("what wrote this flight recorder's file", &other, error);
    if (r == -EILSEQ)
        return pyusdt_error_set(error, r, "a flight recorder's file of another byte order");
    if (r == -EAGAIN)
        return pyusdt_error_set(
            error, r,
            "overwritten faster than it can be read: the process needs a larger PYUSDT_FLIGHT");
    return pyusdt_error_set(error, r, "cannot read a flight recorder's file: %s", strerror(-r));
}
