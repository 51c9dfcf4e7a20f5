/*
 * Makes the area file and the rings of a session that this process serves. All of it runs on slow
 * paths.
 *
 * - A page is allocated before an event can be written to it.
 * - The caller holds the lock, with two exceptions: pyusdt_slot_add_ring() takes it, and the caller
 *   of pyusdt_ring_add_pages() holds the ring.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/target.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "target/spare_stack.h"

void pyusdt_area_format_name(unsigned number, uint64_t generation, enum pyusdt_file kind,
                             uint32_t ring, char *text)
{
    struct pyusdt_name name = {.kind = kind,
                               .process = pyusdt_core.identity,
                               .slot = number,
                               .generation = generation,
                               .ring = ring};
    pyusdt_name_format(&name, text);
}

/* Makes the file in its final length, with the first of its pages, so that no thread waits while a
 * large file is written. fd or -errno. */
static int make_file(int dir, const char *text, uint64_t size, uint64_t pages)
{
    int r = pyusdt_os_file_limit(size), fd = r != 0 ? r : pyusdt_file_make(dir, text, pages);

    if (fd < 0 || (r = pyusdt_os_resize(fd, size)) == 0)
        return fd;
    unlinkat(dir, text, 0);
    close(fd);
    return r;
}

/* The address for an area file of this size: over the slot's last one, which late threads may still
 * read; or new addresses, if it is longer. */
static int map_area(struct pyusdt_slot *slot, uint64_t size, int fd)
{
    struct pyusdt_area *at = size <= slot->area_reserved ? atomic_load(&slot->area) : NULL;
    int r = at ? 0 : pyusdt_head_room_check_addresses(size);

    if (r != 0)
        return r;
    at = pyusdt_guard_map(at, size, PROT_READ | PROT_WRITE, fd);
    if (!at)
        return -ENOMEM;
    if (slot->area_reserved < size)
        slot->area_reserved = size;
    atomic_store(&slot->area, at);
    return 0;
}

int pyusdt_area_make(struct pyusdt_slot *slot, int dir, unsigned number,
                     const struct pyusdt_session_header *header)
{
    const uint64_t size = PYUSDT_AREA_SIZE(pyusdt_counts_end_rows(slot));
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_area *area;
    int r, fd;

    pyusdt_area_format_name(number, header->generation, PYUSDT_FILE_AREA, 0, text);
    fd = make_file(dir, text, size, sizeof *area);
    if (fd < 0)
        return fd;
    r = map_area(slot, size, fd);
    close(fd);
    if (r != 0)
        return r;
    area = atomic_load(&slot->area);
    area->version = PYUSDT_LAYOUT_VERSION;
    area->nprobes = PYUSDT_MAX_PROBES;
    area->generation = header->generation;
    area->ring_size = header->bufsize;
    pyusdt_counts_announce(slot);
    PYUSDT_HOOK(22);
    atomic_store(&area->magic, PYUSDT_AREA_MAGIC);
    return 0;
}

void pyusdt_area_unmap_ring(struct pyusdt_ring *ring)
{
    if (ring->data)
        pyusdt_guard_unmap(ring->data, ring->reserved);
    ring->data = NULL;
    ring->reserved = 0;
}

/* Whether there may be one more. The first pages of the first are so few that every program has
 * room for them. */
static int check_ring_limits(const struct pyusdt_slot *slot, int dir, uint64_t generation,
                             uint32_t k, uint64_t pages)
{
    int r = 0;

    if (slot->room && pyusdt_rundir_ring_bytes(dir, generation) + slot->size > slot->room)
        return -EDQUOT;
    if (k > 0 || pages > PYUSDT_RING_START)
        r = pyusdt_head_room_reserve(dir, pages);
    return r != 0 ? r : pyusdt_head_room_check_addresses(2 * slot->size);
}

int pyusdt_area_make_ring(struct pyusdt_slot *slot, int dir, unsigned number, uint64_t generation,
                          uint32_t k)
{
    const uint64_t pages = PYUSDT_OS_FILLS_HOLES ? PYUSDT_RING_START : slot->size;
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_ring *ring = &slot->ring[k];
    int fd, r = check_ring_limits(slot, dir, generation, k, pages);

    if (r != 0)
        return r;
    pyusdt_area_format_name(number, generation, PYUSDT_FILE_RING, k, text);
    fd = make_file(dir, text, slot->size, pages);
    if (fd < 0)
        return fd;
    pyusdt_area_unmap_ring(ring); /* of an attempt before */
    ring->data = pyusdt_guard_map_twice(NULL, slot->size, PROT_READ | PROT_WRITE, fd, 0);
    close(fd);
    ring->reserved = ring->data ? 2 * slot->size : 0;
    ring->usable = pages;
    /* A session that ends withdraws `wanted`, then removes the files. Either the session sees our
     * files, or we see that it has ended. */
    if (!ring->data || atomic_load(&pyusdt_ctl_slot(number)->wanted) != generation) {
        r = ring->data ? -ECANCELED : -ENOMEM;
        pyusdt_area_unmap_ring(ring);
        pyusdt_rundir_unlink(dir, text);
        return r;
    }
    ring->head = ring->tail = ring->end = ring->retry_at = 0;
    PYUSDT_HOOK(23);
    atomic_store(&atomic_load(&slot->area)->rings, k + 1); /* the tracer may look up its file */
    atomic_store_explicit(&slot->nrings, k + 1, memory_order_release);
    return 0;
}

int pyusdt_core_open_rundir(void)
{
    return pyusdt_rundir_open(pyusdt_core.rundir, NULL);
}

struct ring_request {
    struct pyusdt_slot *slot;
    unsigned number;
    uint32_t have;
    bool more;
};

static void make_ring_locked(void *arg)
{
    struct ring_request *ring_request = arg;
    struct pyusdt_slot *slot = ring_request->slot;
    uint64_t generation = atomic_load(&slot->generation);
    unsigned number = ring_request->number;
    uint32_t have = ring_request->have;
    int dir, r = -EAGAIN;

    if (generation == 0 || atomic_load(&slot->nrings) != have) {
        ring_request->more = generation != 0;
        return;
    }
    dir = pyusdt_core_open_rundir();
    if (dir >= 0) {
        r = number == PYUSDT_FLIGHT_SLOT
                ? pyusdt_flight_make_ring(dir, have)
                : pyusdt_area_make_ring(slot, dir, number, generation, have);
        close(dir);
    }
    if (r != 0)
        atomic_store(&slot->max_rings, have); /* no room: those that there are must do */
    if (r != 0 && r != -EDQUOT)               /* the limit of a kept session is no failure */
        atomic_store(&atomic_load(&slot->area)->error, r);
    ring_request->more = r == 0;
}

/* One more ring, unless another thread made one meanwhile. false: there will be none. */
bool pyusdt_slot_add_ring(struct pyusdt_slot *slot, unsigned number, uint32_t have)
{
    struct ring_request ring_request = {slot, number, have, false};

    pyusdt_spare_stack_call_locked(true, make_ring_locked, &ring_request);
    return ring_request.more;
}

/* Opens the file by its name or, in a process that has become another user and may not open it, by
 * its address. 0 or -errno. */
static int allocate_more(struct pyusdt_slot *slot, struct pyusdt_ring *ring, uint64_t more)
{
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;
    int dir = pyusdt_core_open_rundir(), fd, r = pyusdt_head_room_reserve(dir, more);

    if (dir < 0)
        return r != 0 ? r : pyusdt_os_populate(ring->data + ring->usable, more);
    pyusdt_area_format_name((unsigned)(slot - pyusdt_core.slot), slot->opened, PYUSDT_FILE_RING,
                            (uint32_t)(ring - slot->ring), text);
    fd = r != 0 ? r : pyusdt_file_open(dir, text, O_RDWR, &size);
    r = fd < 0 ? fd : pyusdt_os_allocate(fd, ring->usable, more);
    if (fd >= 0)
        close(fd);
    close(dir);
    if (r == 0)
        pyusdt_os_populate(ring->data + ring->usable, more);
    return r;
}

struct page_request {
    struct pyusdt_slot *slot;
    struct pyusdt_ring *ring;
    uint64_t more;
    int r;
};

static void allocate_locked(void *arg)
{
    struct page_request *page_request = arg;

    page_request->r = allocate_more(page_request->slot, page_request->ring, page_request->more);
}

/* Without the lock: the thread that holds a ring prevents changes of its session, the run directory
 * and our name. */
bool pyusdt_ring_add_pages(struct pyusdt_slot *slot, struct pyusdt_ring *ring)
{
    uint64_t left = slot->size - ring->usable, now = pyusdt_now();
    uint64_t step = ring->usable < PYUSDT_RING_STEP_MAX ? ring->usable : PYUSDT_RING_STEP_MAX;
    struct page_request page_request = {slot, ring, step < left ? step : left, 0};
    bool called;
    int cancel;

    if (left == 0 || now < ring->retry_at)
        return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    called = pyusdt_spare_stack_call(allocate_locked, &page_request);
    pthread_setcancelstate(cancel, NULL);
    PYUSDT_HOOK(24);
    if (!called)
        return false; /* as many threads as there are stacks make pages just now */
    if (page_request.r == 0) {
        /* another thread sums the rings' bytes meanwhile (head_room.c) */
        __atomic_store_n(&ring->usable, ring->usable + page_request.more, __ATOMIC_RELAXED);
        return true;
    }
    ring->retry_at = now + PYUSDT_CHECK_NS;
    atomic_store(&atomic_load(&slot->area)->error, page_request.r);
    return false;
}
