/*
 * The area and the rings of a session that this process serves: made on its slow paths. A page is allocated before an event
 * can come to it. The caller has the lock, but of pyusdt_slot_grow(), which takes it, and of pyusdt_ring_grow(), who holds the ring.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/core.h"
#include "shared/guard.h"
#include "shared/os.h"

void pyusdt_area_name(unsigned number, uint64_t generation, enum pyusdt_file kind, uint32_t ring, char *text)
{
    struct pyusdt_name name = {
        .kind = kind, .who = pyusdt_core.who, .slot = number, .generation = generation, .ring = ring};
    pyusdt_name_format(&name, text);
}

/* As long as it will ever be, with the first of its pages: nobody waits for one who makes a large file. fd or -errno. */
static int make_file(int dir, const char *text, uint64_t size, uint64_t pages)
{
    int fd = pyusdt_file_make(dir, text, pages), r;

    if (fd < 0 || ftruncate(fd, (off_t)size) == 0)
        return fd;
    r = -errno;
    unlinkat(dir, text, 0);
    close(fd);
    return r;
}

int pyusdt_area_make(struct pyusdt_slot *slot, int dir, unsigned number, const struct pyusdt_session_header *header)
{
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_area *area = atomic_load(&slot->area);
    int fd;

    pyusdt_area_name(number, header->generation, PYUSDT_FILE_AREA, 0, text);
    fd = make_file(dir, text, PYUSDT_AREA_SIZE, sizeof *area);
    if (fd < 0)
        return fd;
    area = pyusdt_guard_map(area, PYUSDT_AREA_SIZE, PROT_READ | PROT_WRITE, fd);
    close(fd);
    if (!area)
        return -ENOMEM;
    atomic_store(&slot->area, area);
    area->version = PYUSDT_LAYOUT_VERSION;
    area->nprobes = PYUSDT_MAX_PROBES;
    area->generation = header->generation;
    area->ring_size = header->bufsize;
    pyusdt_counts_show(slot);
    PYUSDT_HOOK(22);
    atomic_store(&area->magic, PYUSDT_AREA_MAGIC);
    return 0;
}

int pyusdt_area_ring(struct pyusdt_slot *slot, int dir, unsigned number, uint64_t generation, uint32_t k)
{
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_ring *ring = &slot->ring[k];
    int fd;

    if (slot->room && pyusdt_rundir_rings(dir, generation) + slot->size > slot->room)
        return -EDQUOT;
    pyusdt_area_name(number, generation, PYUSDT_FILE_RING, k, text);
    ring->usable = PYUSDT_OS_FILLS_HOLES ? PYUSDT_RING_START : slot->size;
    fd = make_file(dir, text, slot->size, ring->usable);
    if (fd < 0)
        return fd;
    if (ring->data && ring->reserved != 2 * slot->size) {
        pyusdt_guard_unmap(ring->data, ring->reserved);
        ring->data = NULL;
    }
    ring->data = pyusdt_guard_map_twice(ring->data, slot->size, PROT_READ | PROT_WRITE, fd, 0);
    close(fd);
    ring->reserved = 2 * slot->size;
    /* A session that ends takes `wanted` back, then removes the files: either it sees ours, or we see that. */
    if (!ring->data || atomic_load(&pyusdt_ctl_slot(number)->wanted) != generation) {
        pyusdt_rundir_unlink(dir, text);
        return ring->data ? -ECANCELED : -ENOMEM;
    }
    ring->head = ring->tail = ring->end = ring->retry_at = 0;
    PYUSDT_HOOK(23);
    atomic_store(&atomic_load(&slot->area)->rings, k + 1); /* the tracer may look for its file */
    atomic_store_explicit(&slot->nrings, k + 1, memory_order_release);
    return 0;
}

int pyusdt_core_rundir(void)
{
    return pyusdt_rundir_open(pyusdt_core.rundir, NULL);
}

/* One more ring, unless another thread made one meanwhile. false: there will be none. */
bool pyusdt_slot_grow(struct pyusdt_slot *slot, unsigned number, uint32_t have)
{
    uint64_t generation;
    int dir, r = -EAGAIN;

    if (!pyusdt_core_lock(true))
        return false;
    generation = atomic_load(&slot->generation);
    if (generation == 0 || atomic_load(&slot->nrings) != have) {
        pyusdt_core_unlock();
        return generation != 0;
    }
    dir = pyusdt_core_rundir();
    if (dir >= 0) {
        r = number == PYUSDT_FLIGHT_SLOT ? pyusdt_flight_ring(dir, have)
                                         : pyusdt_area_ring(slot, dir, number, generation, have);
        close(dir);
    }
    if (r != 0)
        atomic_store(&slot->max_rings, have); /* no room: those that there are must do */
    if (r != 0 && r != -EDQUOT) /* a kept session's own bound is no trouble */
        atomic_store(&atomic_load(&slot->area)->error, r);
    pyusdt_core_unlock();
    return r == 0;
}

/* By its name, or, in a process that has become another user, to whom that is closed, by its address. 0 or -errno. */
static int allocate_more(struct pyusdt_slot *slot, struct pyusdt_ring *ring, uint64_t more)
{
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;
    int dir = pyusdt_core_rundir(), fd, r;

    if (dir < 0)
        return pyusdt_os_populate(ring->data + ring->usable, more);
    pyusdt_area_name((unsigned)(slot - pyusdt_core.slot), slot->opened, PYUSDT_FILE_RING, (uint32_t)(ring - slot->ring), text);
    fd = pyusdt_file_open(dir, text, O_RDWR, &size);
    r = fd < 0 ? fd : pyusdt_os_allocate(fd, ring->usable, more);
    if (fd >= 0)
        close(fd);
    close(dir);
    if (r == 0)
        pyusdt_os_populate(ring->data + ring->usable, more);
    return r;
}

/* Without the lock: who holds a ring keeps its session, the run directory and our name from being changed. */
bool pyusdt_ring_grow(struct pyusdt_slot *slot, struct pyusdt_ring *ring)
{
    uint64_t left = slot->size - ring->usable, now = pyusdt_now();
    uint64_t more = ring->usable < PYUSDT_RING_STEP_MAX ? ring->usable : PYUSDT_RING_STEP_MAX;
    int cancel, r;

    if (left == 0 || now < ring->retry_at)
        return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    r = allocate_more(slot, ring, more < left ? more : left);
    pthread_setcancelstate(cancel, NULL);
    PYUSDT_HOOK(24);
    if (r == 0) {
        ring->usable += more < left ? more : left;
        return true;
    }
    ring->retry_at = now + PYUSDT_CHECK_NS;
    atomic_store(&atomic_load(&slot->area)->error, r);
    return false;
}
