/*
 * The fuzzer's forged processes: control file, area and rings that no core made, right but for what an operation
 * changes; and system calls that fail when an operation says so (the linker wraps them).
 */
#define _GNU_SOURCE
#include "fuzz_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/types.h>
#include <unistd.h>

#include "../../c/shared/layout.h"
#include "../../c/shared/rundir.h"
#include "shared/os.h"

/* Where the parts of a forged control file are. */
enum {
    SLOTS = 192,
    WORDS = SLOTS + 64 * 64,
    DESCS = WORDS + 8 * 64,
    STRINGS = DESCS + 32 * 4,
    PLACES = STRINGS + 64,
    SIZE = PLACES + sizeof(struct pyusdt_ctl_places)
};

/* ---- failing calls ---- */

static unsigned failing, countdown;
static bool paused;

void fuzz_pause(bool pause)
{
    paused = pause;
}

void fuzz_fail(unsigned function, unsigned n)
{
    failing = function % 6;
    countdown = n;
}

static bool fails(unsigned function)
{
    return !paused && countdown != 0 && function == failing && --countdown == 0;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return fails(0) ? NULL : __real_calloc(n, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return fails(1) ? NULL : __real_realloc(old, size);
}

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    errno = ENOMEM;
    return fails(2) ? MAP_FAILED : __real_mmap(at, size, protection, flags, fd, offset);
}

int __real_posix_fallocate(int fd, off_t offset, off_t size);
int __wrap_posix_fallocate(int fd, off_t offset, off_t size);
int __wrap_posix_fallocate(int fd, off_t offset, off_t size)
{
    return fails(3) ? ENOSPC : __real_posix_fallocate(fd, offset, size);
}

int __real_pyusdt_os_open_in(int dir, const char *path, int flags, unsigned mode);
int __wrap_pyusdt_os_open_in(int dir, const char *path, int flags, unsigned mode);
int __wrap_pyusdt_os_open_in(int dir, const char *path, int flags, unsigned mode)
{
    return fails(4) ? -EMFILE : __real_pyusdt_os_open_in(dir, path, flags, mode);
}

ssize_t __real_getrandom(void *buffer, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
    errno = EIO;
    return fails(5) ? -1 : __real_getrandom(buffer, size, flags);
}

void (*fuzz_before_write)(void);

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (fuzz_before_write)
        fuzz_before_write();
    return __real_write(fd, bytes, size);
}

/* ---- forged processes ---- */

static void put(int fd, const void *bytes, size_t size, uint64_t at)
{
    fuzz_require(pwrite(fd, bytes, size, (off_t)at) == (ssize_t)size, "pwrite");
}

static int make(int dir, const struct pyusdt_name *name, off_t size)
{
    char text[PYUSDT_NAME_SIZE];
    int fd;

    pyusdt_name_format(name, text);
    fd = openat(dir, text, O_RDWR | O_CREAT | O_TRUNC, 0600);
    fuzz_require(fd >= 0 && ftruncate(fd, size) == 0, "a forged file");
    return fd;
}

/* One of the header's words is what the operation says: op->at names it, 0 none. */
static void write_ctl(const struct forged *forged, const struct pyusdt_name *name,
                      const struct operation *op)
{
    static const char strings[64] = "\0fuzz\0m\0f\0s1\0other\0(s: string)";
    struct pyusdt_ctl_header header = {.magic = PYUSDT_CTL_MAGIC,
                                       .version = PYUSDT_LAYOUT_VERSION,
                                       .size = SIZE,
                                       .pid = name->process.pid,
                                       .instance = name->process.instance,
                                       .starttime = name->process.starttime,
                                       .pidns = op->flags & 8 ? 77 : pyusdt_os_pidns(),
                                       .state =
                                           op->flags & 16 ? PYUSDT_CTL_EXITED : PYUSDT_CTL_LIVE,
                                       .nprobes = forged->nprobes,
                                       .ndescs = 2,
                                       .slots = SLOTS,
                                       .words = WORDS,
                                       .descs = DESCS,
                                       .strings = STRINGS,
                                       .strings_size = 64,
                                       .comm = "forged",
                                       .places = PLACES,
                                       .nplaces = 3};
    struct pyusdt_ctl_desc descs[2] = {{1, 0, 0, 10, 1, 1, 1, PYUSDT_DESC_PLACES, 19},
                                       {13, 6, 8, 10, forged->nprobes - 1, 0x3c3, 10, 1, 0}};
    struct pyusdt_ctl_place places[3] = {
        {1, 3, 5, 1}, {1, 3, 0, 2}, {op->at, (uint32_t)op->value, (uint32_t)(op->value >> 32), 3}};
    uint32_t *words = (void *)&header;

    if (op->at % 64 != 0 && op->at % 64 < sizeof header / 4)
        words[op->at % 64] = (uint32_t)op->value;
    else if (op->at % 64 >= 40)
        ((uint32_t *)(void *)descs)[op->at % 64 % 18] = (uint32_t)op->value;
    put(forged->ctl, &header, sizeof header, 0);
    put(forged->ctl, descs, sizeof descs, DESCS);
    put(forged->ctl, strings, sizeof strings, STRINGS);
    put(forged->ctl, places, sizeof places, PLACES);
    put(forged->ctl, "\0m\0f\0p.py", 9, PLACES + offsetof(struct pyusdt_ctl_places, strings));
}

static void write_area(const struct forged *forged, uint64_t generation, const struct operation *op)
{
    static struct pyusdt_area area;
    uint64_t counts[2] = {PYUSDT_COUNT_TAG(generation) | op->field, op->value};

    area = (struct pyusdt_area){.magic = PYUSDT_AREA_MAGIC,
                                .version = PYUSDT_LAYOUT_VERSION,
                                .nprobes = PYUSDT_MAX_PROBES,
                                .generation = generation,
                                .ring_size = RING,
                                .rings = FORGED_RINGS + (op->flags >> 7),
                                .counted = 1,
                                .countable = 8,
                                .counted_probe = {1}};
    if (op->flags & 64)
        area.drops[op->field] = op->value;
    put(forged->area, &area, sizeof area, 0);
    put(forged->area, &counts, sizeof counts, PYUSDT_AREA_COUNTS);
}

/* flags: 1 dead, 2 no area, 4 no rings, 8 of another pid namespace, 16 has said goodbye, 32 not joined, 64 drops */
void fuzz_forge(struct forged *forged, const struct operation *op, int dir, uint64_t generation)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .slot = 0, .generation = generation};
    struct pyusdt_ctl_slot slot = {.wanted = generation, .ready = op->flags & 2 ? 0 : generation};

    fuzz_forged_end(forged);
    name.process =
        (struct pyusdt_identity){op->flags & 1 ? DEAD_PID : (uint32_t)getpid(), 9, op->which};
    if (!(op->flags & 1))
        pyusdt_read_starttime(0, &name.process.starttime);
    name.process.instance = 9 + op->which % FORGED * 10; /* "-9.", "-19." … */
    *forged = (struct forged){.made = true, .nprobes = 2 + op->field % 50};
    forged->ctl = make(dir, &name, SIZE);
    name.kind = PYUSDT_FILE_AREA;
    forged->area = make(dir, &name, PYUSDT_AREA_SIZE(PYUSDT_COUNT_ROWS));
    name.kind = PYUSDT_FILE_RING;
    for (name.ring = 0; name.ring < FORGED_RINGS; name.ring++)
        forged->ring[name.ring] = make(dir, &name, op->flags & 4 ? 100 : RING);
    write_area(forged, generation, op);
    write_ctl(forged, &name, op);
    if (!(op->flags & 32))
        put(forged->ctl, &slot, sizeof slot, SLOTS);
}

/* The fields that a flag chooses are what the operation says, the others are right. */
void fuzz_forge_event(struct forged *forged, const struct operation *op)
{
    static uint8_t bytes[4096], ring[RING];
    struct pyusdt_ring_event *event = (void *)bytes;
    unsigned k = op->which / FORGED % FORGED_RINGS;
    struct pyusdt_ring_capture capture = {(uint16_t)(op->field % (PYUSDT_CAPTURE_STACK + 1)),
                                          (uint16_t)(op->at % 300)};
    uint64_t at;

    if (!forged->made)
        return;
    memset(bytes, 0, sizeof bytes);
    *event = (struct pyusdt_ring_event){.size = 24 + 8 * 2,
                                        .probe = op->at >> 24,
                                        .time = pyusdt_now(),
                                        .args = 3 << op->field % 11};
    if (op->flags & 1) {
        event->args |= PYUSDT_EVENT_HAS(0, 1 + (op->flags >> 7));
        memcpy(bytes + 40, &capture, sizeof capture);
        event->size = (uint32_t)(40 + ((sizeof capture + capture.length + 4) & ~3u) + 7) & ~7u;
    }
    if (op->flags & 2)
        event->size = (uint32_t)op->value;
    if (op->flags & 4)
        event->probe = forged->nprobes +
                       (uint32_t)op->value; /* counted from the table's end, where the edge is */
    if (op->which & 128)                    /* one more than there are, too */
        event->probe = PYUSDT_EVENT_WORD(event->probe, op->field % 5);
    if (op->flags & 8)
        event->time -= op->value;
    if (op->flags & 16)
        event->args ^= (uint16_t)(op->value & 0xfff);
    if (op->flags & 32)
        event->args = (uint16_t)op->value;
    if (op->flags & 64)
        memcpy(bytes + 24 + op->field % 200, &op->value, 8);
    at = forged->head[k] % RING;
    for (uint64_t i = 0; i < event->size && i < sizeof bytes; i++)
        ring[(at + i) % RING] = bytes[i];
    put(forged->ring[k], ring, RING,
        0); /* a shared scratch: what lies elsewhere is read by nobody who is right */
    forged->head[k] += event->size < sizeof bytes ? event->size : 24;
    put(forged->area, &forged->head[k], 8,
        k * sizeof(struct pyusdt_line) + offsetof(struct pyusdt_line, head));
}

/* busy; the state; a table that has grown; the slot; rings, or what is counted; places: how many, one, its names */
void fuzz_forge_word(struct forged *forged, const struct operation *op, uint64_t generation)
{
    unsigned k = op->which / FORGED % FORGED_RINGS;
    struct pyusdt_ctl_slot slot = {.wanted = op->value & 1 ? op->value : generation,
                                   .ready = generation,
                                   .failed = PYUSDT_FAILED_TAG(generation) + op->at};
    uint32_t value = (uint32_t)op->value;

    if (!forged->made)
        return;
    switch (op->field % 8) {
    case 0:
        put(forged->area, &value, 4, k * sizeof(struct pyusdt_line));
        break;
    case 1:
        put(forged->ctl, &value, 4, offsetof(struct pyusdt_ctl_header, state));
        break;
    case 2:
        put(forged->ctl, &op->value, 8, offsetof(struct pyusdt_ctl_header, nprobes));
        put(forged->ctl, &op->at, 4, offsetof(struct pyusdt_ctl_header, changes));
        put(forged->ctl, &op->flags, 1,
            DESCS + sizeof(struct pyusdt_ctl_desc) + offsetof(struct pyusdt_ctl_desc, count));
        break;
    case 3:
        put(forged->ctl, &slot, sizeof slot, SLOTS + 64 * (op->at % 64));
        break;
    case 4:
        put(forged->area, &op->value, 8,
            op->flags & 1 ? offsetof(struct pyusdt_area, counted)
                          : offsetof(struct pyusdt_area, rings));
        if (op->flags & 2)
            put(forged->area, &op->value, 8, PYUSDT_AREA_COUNTS + 8 * (op->at % 32));
        break;
    case 5:
        put(forged->ctl, &value, 4, offsetof(struct pyusdt_ctl_header, nplaces));
        break;
    case 6:
        put(forged->ctl, &op->value, 8, PLACES + 8 * (op->at % 16));
        break;
    case 7:
        put(forged->ctl, &op->value, 8,
            PLACES + offsetof(struct pyusdt_ctl_places, strings) + op->at % 4000);
        break;
    }
}

void fuzz_forged_end(struct forged *forged)
{
    if (!forged->made)
        return;
    close(forged->ctl);
    close(forged->area);
    for (unsigned k = 0; k < FORGED_RINGS; k++)
        close(forged->ring[k]);
    forged->made = false;
}
