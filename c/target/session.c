/*
 * The target's slow paths for a session: joining it, making its area and rings, its demand table, and undoing it when
 * its tracer is dead. The session file is only ever pread(), in pieces, and believed in nothing but what it asks for.
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
#include "target/encode.h"

/* ---- reading a session file ---- */

struct session_file {
    int fd;
    unsigned slot;
    struct pyusdt_session_header header;
};

static bool header_is_sane(const struct pyusdt_session_header *header)
{
    return header->magic == PYUSDT_SESSION_MAGIC && header->version == PYUSDT_LAYOUT_VERSION &&
           header->state == PYUSDT_SESSION_STARTED && header->generation != 0 &&
           header->want_size == sizeof(struct pyusdt_want) && header->nwants <= PYUSDT_WANTS_MAX &&
           header->bufsize >= PYUSDT_RING_MIN && header->bufsize <= PYUSDT_RING_MAX &&
           (header->bufsize & (header->bufsize - 1)) == 0 && header->max_rings >= 1 &&
           header->max_rings <= PYUSDT_RINGS_MAX;
}

static int session_file_open(int dir, unsigned number, struct session_file *file)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_SESSION, .slot = number};
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;

    pyusdt_name_format(&name, text);
    file->slot = number;
    file->fd = pyusdt_file_open(dir, text, O_RDONLY, &size);
    if (file->fd < 0)
        return file->fd;
    if (pread(file->fd, &file->header, sizeof file->header, 0) == (ssize_t)sizeof file->header &&
        header_is_sane(&file->header))
        return 0;
    close(file->fd);
    return -ENOENT;
}

/* A tracer that takes the slot over rewrites the file: what was read is good if the generation still is the same. */
static bool session_file_unchanged(const struct session_file *file)
{
    struct pyusdt_session_header now;
    return pread(file->fd, &now, sizeof now, 0) == (ssize_t)sizeof now &&
           now.generation == file->header.generation && now.state == PYUSDT_SESSION_STARTED;
}

/* Calls fn for each probe that is wanted, and before those of each want, if not NULL, begin. 0 or -errno. */
static int session_file_match(const struct session_file *file, pyusdt_match_fn *fn, void *arg,
                              void (*begin)(void *arg, const struct pyusdt_want *want))
{
    struct pyusdt_table table = pyusdt_core.table;
    uint32_t known_as = atomic_load(&pyusdt_ctl_slot(file->slot)->pid);
    struct pyusdt_want want;

    if (known_as != 0)
        table.pid = known_as; /* what is wanted goes by the tracer's names */
    for (uint32_t i = 0; i < file->header.nwants; i++) {
        off_t at = (off_t)(sizeof file->header + (uint64_t)i * sizeof want);
        if (pread(file->fd, &want, sizeof want, at) != (ssize_t)sizeof want)
            return -EIO;
        want.provider[PYUSDT_GLOB_SIZE - 1] = want.module[PYUSDT_GLOB_SIZE - 1] = '\0';
        want.function[PYUSDT_GLOB_SIZE - 1] = want.name[PYUSDT_GLOB_SIZE - 1] = '\0';
        if (begin)
            begin(arg, &want);
        pyusdt_table_match(&table, &want, fn, arg);
    }
    return session_file_unchanged(file) ? 0 : -EAGAIN;
}

/* ---- joining: the enable words ---- */

static int enable_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    (void)desc;
    atomic_fetch_or(&pyusdt_core.words[probe], 1ull << *(const unsigned *)arg);
    PYUSDT_HOOK(21);
    return 0;
}

static bool invites_us(const struct pyusdt_session_header *header)
{
    if (header->comm[0] && strncmp(header->comm, pyusdt_core.ctl->comm, sizeof header->comm) != 0)
        return false;
    if (header->flags & PYUSDT_SESSION_ALL)
        return true;
    for (unsigned i = 0; i < PYUSDT_PIDS_MAX; i++)
        if (header->pids[i] == pyusdt_core.who.pid)
            return true;
    return false;
}

static int join(void *arg, const char *text, const struct pyusdt_name *name)
{
    int dir = *(const int *)arg;
    unsigned number = name->slot;
    uint64_t nobody = 0;
    struct session_file file;

    (void)text;
    if (name->kind != PYUSDT_FILE_SESSION || session_file_open(dir, number, &file) != 0)
        return 0;
    /* Without the flock: only where the session, or another in its place, has not attached us already. */
    if (invites_us(&file.header) && pyusdt_session_alive(dir, number, file.header.generation) &&
        atomic_compare_exchange_strong(&pyusdt_ctl_slot(number)->wanted, &nobody, file.header.generation)) {
        PYUSDT_HOOK(20);
        session_file_match(&file, enable_probe, &number, NULL);
    }
    close(file.fd);
    return 0;
}

int pyusdt_sessions_join(int dir)
{
    return pyusdt_rundir_each(dir, join, &dir);
}

/* ---- demand ---- */

struct demand_build {
    struct pyusdt_demand *demand;
    const struct pyusdt_want *want;
    uint32_t first; /* those before are left alone */
    unsigned slot;  /* for enable_new_probe() */
};

static void demand_begin(void *arg, const struct pyusdt_want *want)
{
    ((struct demand_build *)arg)->want = want;
}

static int demand_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    struct demand_build *build = arg;
    struct pyusdt_demand *demand = &build->demand[probe];
    uint32_t args = build->want->args & ((1u << desc->nargs) - 1);

    if (probe < build->first)
        return 0;
    atomic_store_explicit(
        &demand->mask, atomic_load_explicit(&demand->mask, memory_order_relaxed) | args | PYUSDT_DEMAND_FIRE,
        memory_order_relaxed);
    for (uint32_t i = 0; i < desc->nargs; i++) {
        uint16_t bytes = build->want->bytes[i] < PYUSDT_MAX_STRING ? build->want->bytes[i] : PYUSDT_MAX_STRING;
        if (!(args >> i & 1))
            continue;
        if (demand->nargs <= i)
            demand->nargs = (uint8_t)(i + 1);
        if (!(desc->strings >> i & 1) || bytes == 0)
            continue;
        if (demand->bytes[i] == 0)
            demand->index[demand->ncaptures++] = (uint8_t)i;
        if (demand->bytes[i] < bytes)
            demand->bytes[i] = bytes;
    }
    demand->most = pyusdt_event_most(demand);
    return 0;
}

static int make_demand(struct pyusdt_slot *slot, const struct session_file *file)
{
    struct demand_build build = {.demand = atomic_load(&slot->demand)};
    size_t size = PYUSDT_MAX_PROBES * sizeof(struct pyusdt_demand); /* as long as it can become; used as far as it is */

    if (!build.demand) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return -ENOMEM;
        build.demand = memory;
        atomic_store(&slot->demand, build.demand);
    }
    for (uint32_t i = 0; i < pyusdt_core.table.nprobes; i++) { /* pyusdt_demand() looks at masks at any time */
        atomic_store_explicit(&build.demand[i].mask, 0, memory_order_relaxed);
        build.demand[i].nargs = build.demand[i].ncaptures = 0;
        memset(build.demand[i].bytes, 0, sizeof build.demand[i].bytes);
    }
    return session_file_match(file, demand_probe, &build, demand_begin);
}

void pyusdt_demand_all(struct pyusdt_demand *demand, uint32_t first)
{
    struct pyusdt_want want = {.args = (1u << PYUSDT_MAX_ARGS) - 1};
    struct demand_build build = {.demand = demand, .want = &want, .first = first};

    for (unsigned i = 0; i < PYUSDT_MAX_ARGS; i++)
        want.bytes[i] = PYUSDT_MAX_STRING;
    pyusdt_table_match(&pyusdt_core.table, &want, demand_probe, &build);
}

static int enable_new_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    struct demand_build *build = arg;
    return probe < build->first ? 0 : enable_probe(&build->slot, probe, desc);
}

/* Under the lock, so no session is opened or closed meanwhile. One that comes now reads the whole table. */
void pyusdt_sessions_grow(uint32_t first)
{
    int dir = pyusdt_rundir_open(pyusdt_core.rundir, NULL);

    for (unsigned number = 0; dir >= 0 && number < PYUSDT_MAX_SESSIONS; number++) {
        struct pyusdt_slot *slot = &pyusdt_core.slot[number];
        uint64_t wanted = atomic_load(&pyusdt_ctl_slot(number)->wanted);
        struct demand_build build = {.first = first, .slot = number};
        struct session_file file;

        if (wanted == 0 || session_file_open(dir, number, &file) != 0)
            continue;
        build.demand = atomic_load(&slot->demand);
        if (file.header.generation == wanted && pyusdt_session_alive(dir, number, wanted) &&
            (slot->opened != wanted || session_file_match(&file, demand_probe, &build, demand_begin) == 0))
            session_file_match(&file, enable_new_probe, &build, demand_begin); /* the bits last */
        close(file.fd);
    }
    if (dir >= 0)
        close(dir);
}

/* ---- area and rings ---- */

static void file_name(unsigned number, uint64_t generation, enum pyusdt_file kind, uint32_t ring, char *text)
{
    struct pyusdt_name name = {
        .kind = kind, .who = pyusdt_core.who, .slot = number, .generation = generation, .ring = ring};
    pyusdt_name_format(&name, text);
}

static int make_area(struct pyusdt_slot *slot, int dir, unsigned number, const struct session_file *file)
{
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_area *area = atomic_load(&slot->area);
    int fd;

    file_name(number, file->header.generation, PYUSDT_FILE_AREA, 0, text);
    fd = pyusdt_file_make(dir, text, sizeof *area);
    if (fd < 0)
        return fd;
    area = pyusdt_guard_map(area, sizeof *area, PROT_READ | PROT_WRITE, fd);
    close(fd);
    if (!area)
        return -ENOMEM;
    atomic_store(&slot->area, area);
    area->version = PYUSDT_LAYOUT_VERSION;
    area->nprobes = PYUSDT_MAX_PROBES;
    area->generation = file->header.generation;
    area->ring_size = file->header.bufsize;
    PYUSDT_HOOK(22);
    atomic_store(&area->magic, PYUSDT_AREA_MAGIC);
    return 0;
}

/* As long as it will ever be, with the first of its pages: nobody waits for one who makes a large ring. fd or -errno. */
static int make_ring_file(int dir, const char *text, uint64_t size, uint64_t *usable)
{
    int fd, r;

    *usable = PYUSDT_OS_FILLS_HOLES ? PYUSDT_RING_START : size;
    fd = pyusdt_file_make(dir, text, *usable);
    if (fd < 0 || ftruncate(fd, (off_t)size) == 0)
        return fd;
    r = -errno;
    unlinkat(dir, text, 0);
    close(fd);
    return r;
}

static int make_ring(struct pyusdt_slot *slot, int dir, unsigned number, uint64_t generation, uint32_t k)
{
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_ring *ring = &slot->ring[k];
    int fd;

    if (slot->room && pyusdt_rundir_rings(dir, generation) + slot->size > slot->room)
        return -EDQUOT;
    file_name(number, generation, PYUSDT_FILE_RING, k, text);
    fd = make_ring_file(dir, text, slot->size, &ring->usable);
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

static int open_rundir(void)
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
    dir = open_rundir();
    if (dir >= 0) {
        r = number == PYUSDT_FLIGHT_SLOT ? pyusdt_flight_ring(dir, have)
                                         : make_ring(slot, dir, number, generation, have);
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
    int dir = open_rundir(), fd, r;

    if (dir < 0)
        return pyusdt_os_populate(ring->data + ring->usable, more);
    file_name((unsigned)(slot - pyusdt_core.slot), slot->opened, PYUSDT_FILE_RING, (uint32_t)(ring - slot->ring), text);
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

/* ---- undoing ---- */

/* Holds every ring, so that nobody is inside, now or later: nobody gives them back. false: somebody is. */
static bool hold_rings(struct pyusdt_slot *slot)
{
    struct pyusdt_area *area = atomic_load(&slot->area);
    uint32_t n = atomic_load(&slot->nrings), held = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t none = 0;
        held += atomic_compare_exchange_strong(&area->line[k].busy, &none, PYUSDT_RING_CLOSED) ||
                none == PYUSDT_RING_CLOSED || pyusdt_ring_take_from_dead(&area->line[k], PYUSDT_RING_CLOSED);
    }
    return held == n;
}

/*
 * The slot's last session is gone: its memory back to the system, its files removed. The address ranges stay, for the
 * next. false: a thread is still inside a ring; it is called again. Under the lock.
 */
static bool slot_close(struct pyusdt_slot *slot, int dir, unsigned number)
{
    char text[PYUSDT_NAME_SIZE];
    uint32_t n = atomic_load(&slot->nrings);

    if (slot->opened == 0)
        return true;
    atomic_store(&slot->generation, 0);
    if (!hold_rings(slot)) {
        atomic_store(&slot->next_check, 0); /* who leaves the ring looks after it */
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        pyusdt_os_discard(slot->ring[k].data, 2 * slot->size);
        file_name(number, slot->opened, PYUSDT_FILE_RING, k, text);
        pyusdt_rundir_unlink(dir, text);
    }
    file_name(number, slot->opened, PYUSDT_FILE_AREA, 0, text);
    pyusdt_rundir_unlink(dir, text);
    atomic_store(&slot->nrings, 0);
    slot->opened = 0;
    return true;
}

/* What is in the files stays there for the session to read: this process goes elsewhere. */
bool pyusdt_slot_leave(struct pyusdt_slot *slot)
{
    if (slot->opened == 0)
        return true;
    atomic_store(&slot->generation, 0);
    if (!hold_rings(slot))
        return false;
    atomic_store(&slot->nrings, 0);
    slot->opened = 0;
    return true;
}

/* The tracer is dead (0: there is none): nobody wants anything here any more. Under the lock. */
static int slot_abandon(int dir, unsigned number, uint64_t generation)
{
    struct pyusdt_bits bits = {pyusdt_ctl_slot(number), pyusdt_core.words, pyusdt_core.table.nprobes, number};
    return pyusdt_bits_undo(&bits, dir, generation);
}

/* Called by producers when next_check is past. One of them does the work, the others go on. */
void pyusdt_slot_check(unsigned number, uint64_t now)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    uint64_t due = atomic_load(&slot->next_check);
    int dir;

    if (now < due || !atomic_compare_exchange_strong(&slot->next_check, &due, now + PYUSDT_CHECK_NS))
        return;
    if (!pyusdt_core_lock(true))
        return;
    dir = open_rundir();
    if (dir >= 0 && slot->opened != 0 && !pyusdt_session_alive(dir, number, slot->opened)) {
        slot_abandon(dir, number, slot->opened);
        slot_close(slot, dir, number);
    }
    if (dir >= 0)
        close(dir);
    pyusdt_core_unlock();
}

/* ---- opening ---- */

static int open_session(struct pyusdt_slot *slot, int dir, unsigned number, uint64_t wanted)
{
    struct session_file file;
    int r = session_file_open(dir, number, &file);

    if (r != 0 || file.header.generation != wanted || !pyusdt_session_alive(dir, number, wanted)) {
        if (r == 0)
            close(file.fd);
        if (r == -EMFILE || r == -ENFILE || r == -EACCES)
            return r;
        return slot_abandon(dir, number, wanted);
    }
    slot->opened = wanted;
    slot->size = file.header.bufsize;
    slot->room = file.header.keep_bytes;
    slot->barrier =
        (file.header.flags & PYUSDT_SESSION_BARRIER) && pyusdt_os_alone() && pyusdt_os_barrier_join();
    atomic_store(&slot->max_rings, file.header.max_rings);
    r = make_demand(slot, &file);
    if (r == 0)
        r = make_area(slot, dir, number, &file);
    if (r == 0)
        r = make_ring(slot, dir, number, wanted, 0);
    if (r == 0) {
        struct pyusdt_ctl_slot *shared = pyusdt_ctl_slot(number);
        atomic_store(&slot->next_check, pyusdt_now() + PYUSDT_CHECK_NS);
        atomic_store(&shared->state, PYUSDT_SLOT_READY);
        PYUSDT_HOOK(25);
        atomic_store(&shared->ready, wanted); /* the tracer may look for the area */
        atomic_store(&slot->generation, wanted);
    } else {
        slot_close(slot, dir, number);
    }
    close(file.fd);
    return r;
}

/* What slot_open() does once it has the lock. */
static int serve(struct pyusdt_slot *slot, unsigned number, uint64_t wanted)
{
    int dir = open_rundir(), r;

    if (dir < 0)
        return dir;
    if (wanted == 0)
        r = slot_abandon(dir, number, 0); /* a stray bit: who set it found its session dead too late */
    else
        r = slot_close(slot, dir, number) ? open_session(slot, dir, number, wanted) : -EBUSY;
    close(dir);
    return r;
}

bool pyusdt_slot_open(unsigned number)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    struct pyusdt_ctl_slot *shared = pyusdt_ctl_slot(number);
    uint64_t wanted = atomic_load(&shared->wanted), now = pyusdt_now();
    bool open;
    int r;

    if (wanted == atomic_load(&slot->refused) && now < atomic_load(&slot->retry_at))
        return false;
    if (!pyusdt_core_lock(true))
        return false;
    wanted = atomic_load(&shared->wanted);
    if (wanted == 0 || wanted != atomic_load(&slot->generation)) {
        r = serve(slot, number, wanted);
        if (r != 0 && wanted != 0) {
            atomic_store(&shared->error, r);
            atomic_store(&shared->state, PYUSDT_SLOT_FAILED);
        }
        if (r != -EBUSY && (r != 0 || wanted == 0)) {
            atomic_store(&slot->refused, wanted);
            atomic_store(&slot->retry_at, now + PYUSDT_CHECK_NS);
        }
    }
    open = wanted != 0 && wanted == atomic_load(&slot->generation);
    pyusdt_core_unlock();
    return open;
}

void pyusdt_slot_lost(unsigned number, uint64_t wanted)
{
    struct pyusdt_ctl_slot *shared = pyusdt_ctl_slot(number);
    uint64_t tag = PYUSDT_FAILED_TAG(wanted), old = atomic_load(&shared->failed), new;

    if (wanted == 0 || atomic_load(&shared->wanted) != wanted)
        return; /* nobody to tell */
    do
        new = PYUSDT_FAILED_TAG(old) == tag ? old + 1 : tag | 1;
    while (!atomic_compare_exchange_weak(&shared->failed, &old, new));
}
