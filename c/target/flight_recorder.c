/*
 * The flight recorder: a file with the last events of this process, to be read after its death.
 *
 * PYUSDT_FLIGHT=SIZE in the environment turns it on when the process publishes itself (SIZE in
 * bytes, k, m or g). The file is <pid>-<starttime>-<instance>.flight in the run directory
 * (layout.h). PYUSDT_FLIGHT=exceptions is for exceptions_file.c; both are there with a comma between
 * them.
 *
 * - The file lies in memory, or there is none. At most KEPT_FILES files of dead processes remain
 *   beside a new one.
 * - A ring has SIZE bytes, and there are as many rings as threads that fire at the same time. None
 *   of the last SIZE bytes of all events is missing, because each ring holds fewer bytes that are
 *   younger.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "target/target.h"
#include "shared/exceptions_file.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"

#define KEPT_FILES 7    /* and the new one: eight */
#define REMOVALS_MAX 64 /* immediately; the next process continues */

/* ---- the request ---- */

#define EXCEPTIONS "exceptions"

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

/* The size of a ring, which is a power of two; 0: unreadable. */
static uint64_t parse_size(const char *text, size_t length)
{
    static const char units[] = "kmg";
    const char *end = text + length, *unit;
    uint64_t size = 0, ring = PYUSDT_RING_MIN;

    for (; text < end && *text >= '0' && *text <= '9' && size <= PYUSDT_RING_MAX; text++)
        size = size * 10 + (uint64_t)(*text - '0');
    unit = text < end ? strchr(units, *text | 0x20) : NULL;
    if (size == 0 || (text < end && (!unit || text + 1 != end)))
        return 0;
    if (unit)
        size <<= 10 * (unit - units + 1);
    while (ring < PYUSDT_RING_MAX && ring < size)
        ring *= 2;
    return ring;
}

/* 0, and the size of a ring; 0: no events are wanted; -EINVAL: unreadable. */
static int read_request(uint64_t *ring)
{
    const char *text = pyusdt_os_is_secure_exec() ? NULL : getenv("PYUSDT_FLIGHT");

    *ring = 0;
    if (!text || !*text)
        return 0;
    for (;; text++) {
        size_t length = strcspn(text, ",");
        if (!is_word(text, length, EXCEPTIONS) && !is_word(text, length, "0") &&
            (*ring != 0 || (*ring = parse_size(text, length)) == 0))
            return -EINVAL;
        text += length;
        if (!*text)
            return 0;
    }
}

/* The stack of each event, with native frames; 0: none. */
static uint32_t read_frames(void)
{
    const char *text = getenv("PYUSDT_FLIGHT_FRAMES");
    long frames = text ? atol(text) : 0;

    return frames > 0 ? (uint32_t)(frames < PYUSDT_MAX_FRAMES ? frames : PYUSDT_MAX_FRAMES) |
                            PYUSDT_WANT_NATIVES
                      : 0;
}

/* ---- the files of the dead ---- */

struct dead {
    int dir;
    enum pyusdt_file kind;
    unsigned n;
    struct pyusdt_identity processes[REMOVALS_MAX];
};

/* A process of another namespace is dead only as far as we can see. */
static bool is_of_our_namespace(int fd, enum pyusdt_file kind)
{
    struct pyusdt_ctl_header header;
    struct pyusdt_exceptions exceptions;

    if (kind == PYUSDT_FILE_FLIGHT)
        return pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
               header.magic != PYUSDT_FLIGHT_MAGIC || header.pidns == pyusdt_os_pidns();
    return pread(fd, &exceptions, sizeof exceptions, 0) != (ssize_t)sizeof exceptions ||
           exceptions.magic != PYUSDT_EXCEPTIONS_MAGIC || exceptions.pidns == pyusdt_os_pidns();
}

static int collect_dead(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct dead *dead = arg;
    uint64_t size;
    int fd;

    if (name->kind != dead->kind || pyusdt_is_alive(&name->process))
        return 0;
    fd = pyusdt_file_open(dead->dir, text, O_RDONLY, &size);
    if (fd < 0)
        return 0;
    if (is_of_our_namespace(fd, dead->kind))
        dead->processes[dead->n++] = name->process;
    close(fd);
    return dead->n == REMOVALS_MAX;
}

/* The oldest go, by when their processes started. */
void pyusdt_flight_remove_oldest(int dir, enum pyusdt_file kind)
{
    struct pyusdt_name name = {.kind = kind};
    struct dead dead = {.dir = dir, .kind = kind};
    char text[PYUSDT_NAME_SIZE];

    pyusdt_rundir_each(dir, collect_dead, &dead);
    while (dead.n > KEPT_FILES) {
        unsigned oldest = 0;
        for (unsigned i = 1; i < dead.n; i++)
            if (dead.processes[i].starttime < dead.processes[oldest].starttime)
                oldest = i;
        name.process = dead.processes[oldest];
        pyusdt_name_format(&name, text);
        pyusdt_rundir_unlink(dir, text);
        dead.processes[oldest] = dead.processes[--dead.n];
    }
}

/* ---- our own ---- */

static void format_file_name(char *text)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_FLIGHT, .process = pyusdt_core.identity};
    pyusdt_name_format(&name, text);
}

static int open_file(int dir, int flags)
{
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;

    format_file_name(text);
    if (!(flags & O_CREAT))
        return pyusdt_file_open(dir, text, flags, &size);
    pyusdt_rundir_unlink(dir, text); /* of a dead namesake, or of our own without success */
    return pyusdt_file_make(dir, text, PYUSDT_CTL_WORDS);
}

static void remove_file(int dir)
{
    char text[PYUSDT_NAME_SIZE];

    format_file_name(text);
    pyusdt_rundir_unlink(dir, text);
}

static void fill_header(struct pyusdt_ctl_header *flight)
{
    struct pyusdt_flight_info *info = (void *)((char *)flight + PYUSDT_CTL_SLOTS);
    struct timespec wall;

    clock_gettime(CLOCK_REALTIME, &wall);
    info->begun = pyusdt_now();
    info->wall = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec - info->begun;
    info->order = PYUSDT_FLIGHT_ORDER;
    info->uid = (uint32_t)geteuid();
    gethostname(info->host, sizeof info->host - 1);
    pyusdt_ctl_fill(flight);
}

static int make_demand(struct pyusdt_slot *slot)
{
    struct pyusdt_demand *demand = atomic_load(&slot->demand);

    if (!demand)
        demand = mmap(NULL, PYUSDT_MAX_PROBES * sizeof *demand, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (demand == MAP_FAILED)
        return -ENOMEM;
    memset(demand, 0, pyusdt_core.table.nprobes * sizeof *demand);
    atomic_store(&slot->demand, demand);
    pyusdt_demand_everything(demand, 0, read_frames());
    return 0;
}

static int make_file(int fd, uint64_t ring_size)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[PYUSDT_FLIGHT_SLOT];
    struct pyusdt_ctl_header *flight;
    struct pyusdt_area *area;
    int r = pyusdt_target_table_allocate(fd);

    if (r == 0)
        r = pyusdt_places_allocate(fd);
    if (r == 0)
        r = pyusdt_os_allocate(fd, PYUSDT_FLIGHT_AREA, PYUSDT_FLIGHT_RINGS - PYUSDT_FLIGHT_AREA);
    if (r == 0)
        r = make_demand(slot);
    if (r != 0)
        return r;
    flight = pyusdt_guard_map(NULL, PYUSDT_FLIGHT_RINGS, PROT_READ | PROT_WRITE, fd);
    if (!flight)
        return -ENOMEM;
    fill_header(flight);
    area = (void *)((char *)flight + PYUSDT_FLIGHT_AREA);
    area->version = PYUSDT_LAYOUT_VERSION;
    area->nprobes = PYUSDT_MAX_PROBES;
    area->ring_size = slot->size = ring_size;
    atomic_store(&slot->area, area);
    atomic_store(&slot->max_rings, PYUSDT_RINGS_MAX);
    atomic_store(&slot->generation, 1);
    pyusdt_core.flight = flight;
    return 0;
}

/* Ring k, behind the others. The file says how many there are when it is usable. */
int pyusdt_flight_make_ring(int dir, uint32_t k)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[PYUSDT_FLIGHT_SLOT];
    struct pyusdt_ring *ring = &slot->ring[k];
    uint64_t at = PYUSDT_FLIGHT_RINGS + k * slot->size;
    int fd, r = k > 0 ? pyusdt_head_room_reserve(dir, slot->size)
                      : 0; /* the first one comes from the program's user */

    if (r == 0)
        r = pyusdt_head_room_check_addresses(2 * slot->size);
    fd = r != 0 ? r : open_file(dir, O_RDWR);
    if (fd < 0)
        return fd;
    r = pyusdt_os_allocate(fd, at, slot->size);
    if (r == 0)
        ring->data =
            pyusdt_guard_map_twice(NULL, slot->size, PROT_READ | PROT_WRITE, fd, (off_t)at);
    close(fd);
    if (r != 0 || !ring->data)
        return r ? r : -ENOMEM;
    pyusdt_os_populate(ring->data, slot->size);
    ring->reserved = 2 * slot->size;
    ring->head = ring->tail = 0;
    atomic_store(&atomic_load(&slot->area)->rings, k + 1);
    atomic_store_explicit(&slot->nrings, k + 1, memory_order_release);
    return 0;
}

static int start_recorder(int dir, uint64_t ring_size)
{
    int fd, r;

    if (!pyusdt_os_is_in_memory(dir))
        return -ENOTSUP;
    pyusdt_flight_remove_oldest(dir, PYUSDT_FILE_FLIGHT);
    fd = open_file(dir, O_CREAT);
    if (fd < 0)
        return fd;
    r = make_file(fd, ring_size);
    close(fd);
    if (r == 0)
        r = pyusdt_flight_make_ring(dir, 0);
    if (r == 0) {
        PYUSDT_HOOK(14);
        atomic_store(&pyusdt_core.flight->magic, PYUSDT_FLIGHT_MAGIC);
        return 0;
    }
    remove_file(dir);
    pyusdt_flight_close();
    return r;
}

/* Continues in the previous file, which other threads may be writing to, if it has the same probes.
 */
static int resume_recorder(void)
{
    const struct pyusdt_probe_table *table = &pyusdt_core.table;
    struct pyusdt_ctl_header *flight = pyusdt_core.flight;
    const char *bytes = (const char *)flight;

    if (flight->ndescs != table->ndescs || flight->strings_size != table->strings_size ||
        memcmp(bytes + PYUSDT_CTL_DESCS, table->descs, table->ndescs * sizeof *table->descs) != 0 ||
        memcmp(bytes + PYUSDT_CTL_STRINGS, table->strings, table->strings_size) != 0) {
        pyusdt_core.flight = NULL;
        return -EEXIST;
    }
    atomic_store(&flight->state, PYUSDT_CTL_LIVE);
    pyusdt_places_changed();
    return 0;
}

bool pyusdt_flight_is_wanted(void)
{
    uint64_t ring_size;

    return read_request(&ring_size) != 0 || ring_size != 0;
}

int pyusdt_flight_start(int dir)
{
    uint64_t ring_size;
    int r = read_request(&ring_size);

    if (r != 0 || ring_size == 0)
        return r;
    return pyusdt_core.flight ? resume_recorder() : start_recorder(dir, ring_size);
}

/* A probe without room is not recorded: its demand stays 0. */
void pyusdt_flight_add_probes(uint32_t first)
{
    int dir = pyusdt_core.flight ? pyusdt_rundir_open(pyusdt_core.rundir, NULL) : -1;
    int fd = dir < 0 ? -1 : open_file(dir, O_RDWR);

    if (fd >= 0 && pyusdt_target_table_allocate(fd) == 0) {
        pyusdt_target_table_copy_to(pyusdt_core.flight);
        pyusdt_demand_everything(atomic_load(&pyusdt_core.slot[PYUSDT_FLIGHT_SLOT].demand), first,
                                 read_frames());
    }
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
}

void pyusdt_flight_close(void)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[PYUSDT_FLIGHT_SLOT];
    struct pyusdt_demand *demand = atomic_load(&slot->demand);
    struct pyusdt_ctl_header *flight = pyusdt_core.flight;

    pyusdt_core.flight = NULL;
    for (unsigned k = 0; k < PYUSDT_RINGS_MAX; k++)
        pyusdt_area_unmap_ring(&slot->ring[k]);
    memset(slot, 0, sizeof *slot);
    atomic_store(&slot->demand, demand);
    if (flight)
        pyusdt_guard_unmap(flight, PYUSDT_FLIGHT_RINGS);
}

int pyusdt_flight(char *path, size_t size)
{
    char text[PYUSDT_NAME_SIZE];

    if (!pyusdt_core.flight)
        return pyusdt_core.flight_error;
    format_file_name(text);
    return (size_t)snprintf(path, size, "%s/%s", pyusdt_core.rundir, text) < size ? 1
                                                                                  : -ENAMETOOLONG;
}
