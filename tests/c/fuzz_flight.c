/*
 * libFuzzer's harness for flight recorders' files and recordings: c/recording/flight_reader.c and recording_reader.c.
 *
 * - An input is operations of 16 bytes (struct operation), which fuzz_mutator.c makes of each other. Each changes a file that a recorder
 *   has left: a word of its header, its table, its rings' lines, or of an event; or the recording that it becomes. Others truncate the
 *   file, overwrite it while it is read, or let a system call fail.
 * - A crash, a hang or a sanitizer's report is a bug. Each replayed event must be whole, of a probe and a target that the recording has;
 *   a list of its probes must end.
 * - Each input starts from the same file; an unchanged one gives back all that was in it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../c/shared/layout.h"
#include "../../c/recording/flight_reader.h"
#include "../../c/recording/recording_reader.h"
#include "fuzz_reader.h"

enum { FIRINGS = 2000, STEPS_MAX = 100000, CHANGES = 8, WITH_PLACES = 51 };

static const struct pyusdt_probe_desc PROBES[] = {
    {.provider = "fuzz", .module = "m", .function = "f", .name = "s1", .nargs = 1, .strings = 1},
    {.provider = "fuzz",
     .module = "m",
     .function = "n",
     .name = "n",
     .nargs = 10,
     .strings = 0x3c3,
     .count = 50},
    {.provider = "fuzz",
     .module = "",
     .function = "",
     .name = "at",
     .nargs = 10,
     .strings = 0x3c3,
     .places = 1},
};

static uint8_t *flown, *recording, *scratch; /* the files as they were left; a copy to spoil */
static size_t flown_size, recording_size;

/* ---- the files that all inputs start from ---- */

static void fire(unsigned n)
{
    static char text[PYUSDT_MAX_STRING + 1];
    struct pyusdt_args args = {.missing = 0};

    memset(text, 'x', sizeof text - 1);
    for (unsigned i = 0; i < 10; i++) {
        args.length[i] = (n * 7 + i) % 100;
        args.value[i] = i < 2 || i > 5 || n % 51 == 0 ? (uintptr_t)text : n;
    }
    if (n % 5 == 0)
        pyusdt_fire_at(WITH_PLACES, pyusdt_place("module", n % 2 ? "odd" : "even", "file", n % 7),
                       ~0ull, &args);
    else
        pyusdt_fire(n % 51, &args);
}

static uint8_t *read_whole(int fd, size_t *size)
{
    struct stat st;
    uint8_t *bytes;

    fuzz_require(fd >= 0 && fstat(fd, &st) == 0, "no file to start from");
    *size = (size_t)st.st_size;
    bytes = malloc(*size);
    fuzz_require(bytes && pread(fd, bytes, *size, 0) == (ssize_t)*size, "a file to start from");
    close(fd);
    return bytes;
}

/* Two rings: the second is there because somebody seems to be inside the first. */
static void fly(const char *path)
{
    struct pyusdt_area *area;
    int fd = open(path, O_RDWR);

    area =
        mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)PYUSDT_FLIGHT_AREA);
    fuzz_require(area != MAP_FAILED, "the recorder's area");
    for (unsigned n = 0; n < FIRINGS; n++) {
        atomic_store(&area->line[0].busy, n % 3 == 1 ? (uint32_t)getpid() : 0);
        fire(n);
    }
    atomic_store(&area->line[0].busy, 0);
    fuzz_require(area->rings == 2, "two rings");
    munmap(area, sizeof *area);
    flown = read_whole(fd, &flown_size);
}

static int file_of(const uint8_t *bytes, size_t size)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);

    for (size_t at = 0; at < size; at += 4096) { /* its holes stay holes */
        size_t n = size - at < 4096 ? size - at : 4096;
        if (bytes[at] != 0 || memcmp(bytes + at, bytes + at + 1, n - 1) != 0)
            fuzz_require(pwrite(fd, bytes + at, n, (off_t)at) == (ssize_t)n, "pwrite");
    }
    fuzz_require(ftruncate(fd, (off_t)size) == 0, "ftruncate");
    return fd;
}

/* ---- replaying ---- */

static int on_event(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_replay *replay = arg;
    struct pyusdt_probe_info probe;
    struct pyusdt_place_info place;
    struct pyusdt_target_info target;

    fuzz_require(pyusdt_replay_source_ops.target(replay, event->target, &target) == 0,
                 "an event of no target");
    fuzz_require(pyusdt_replay_source_ops.probe(replay, event->target, event->probe, &probe) == 0,
                 "an event of no probe");
    fuzz_require(event->place == 0 || pyusdt_replay_source_ops.place(replay, event->target,
                                                                     event->place, &place) == 0,
                 "an event of no place");
    fuzz_require(event->args >> PYUSDT_MAX_ARGS == 0 && event->ncaptures <= PYUSDT_MAX_ARGS,
                 "too many arguments");
    for (uint32_t i = 0; i < event->ncaptures; i++) {
        const struct pyusdt_capture *capture = &event->capture[i];
        fuzz_require(capture->length <= PYUSDT_MAX_STRING, "a string that is too long");
        fuzz_require(strnlen(capture->data, capture->length + 1) <= capture->length,
                     "a string without end");
    }
    return 0;
}

static int on_probe(void *arg, const struct pyusdt_target_info *target,
                    const struct pyusdt_probe_info *probe)
{
    (void)target;
    fuzz_require(strlen(probe->name) < sizeof probe->name &&
                     strlen(probe->provider) < sizeof probe->provider,
                 "a name without end");
    return ++*(int *)arg > 5000;
}

/* How many events there were; -1: it is refused. Polled as the engine does: up to a time, then on. */
static int replay(int fd)
{
    struct pyusdt_replay *replay;
    struct pyusdt_target_info target;
    struct pyusdt_drops_block loss;
    struct pyusdt_error error;
    uint64_t next = 0;
    int events = 0, probes = 0;

    if (pyusdt_replay_open(fd, &replay, &error) != 0)
        return -1;
    pyusdt_replay_list(replay, on_probe, &probes);
    pyusdt_replay_damage(replay);
    pyusdt_replay_drops(replay, &loss);
    fuzz_require(pyusdt_replay_end(replay) >= pyusdt_replay_header(replay)->begun,
                 "an end before the beginning");
    for (int i = 0; i < STEPS_MAX && pyusdt_replay_next(replay, &next); i++)
        events += pyusdt_replay_source_ops.poll(replay, next, 3, on_event, replay);
    fuzz_require(pyusdt_replay_is_over(replay), "a replay that does not end");
    fuzz_require(pyusdt_replay_source_ops.target(replay, pyusdt_replay_source_ops.targets(replay),
                                                 &target) == -ENOENT,
                 "one target more than there are");
    pyusdt_replay_close(replay);
    return events;
}

/* ---- one input ---- */

/* Where in a recorder's file an operation writes: a place of the layout, whole words. */
static size_t place_in_flight(const struct operation *op)
{
    const size_t rings = flown_size - PYUSDT_FLIGHT_RINGS;

    switch (op->which % CHANGES) {
    case 0:
        return op->field % 32 * 4; /* header */
    case 1:
        return PYUSDT_CTL_SLOTS + op->field % 24 * 4; /* when and where */
    case 2:
        return PYUSDT_CTL_DESCS + op->field % 16 * 4; /* descriptions */
    case 3:
        return PYUSDT_FLIGHT_AREA + op->field % 2 * sizeof(struct pyusdt_line) + op->at % 12 * 8;
    case 4:
        return PYUSDT_FLIGHT_AREA + offsetof(struct pyusdt_area, magic) + op->field % 12 * 4;
    case 5:
        return PYUSDT_CTL_PLACES + op->field % 64 * 4;
    case 6:
        return PYUSDT_CTL_PLACES + offsetof(struct pyusdt_ctl_places, strings) + op->field % 64;
    default:
        return PYUSDT_FLIGHT_RINGS +
               (op->field % 2 * (rings / 2) + op->at * 8ull) % rings; /* an event */
    }
}

static void change(uint8_t *bytes, size_t size, size_t at, const struct operation *op)
{
    size_t n = op->flags & 1 ? 4 : op->flags & 2 ? 1 : 8;

    if (op->flags & 4) { /* by a little: at the edge of what was right */
        uint64_t word = 0;
        memcpy(&word, bytes + at % (size - 8), 8);
        word += op->value;
        memcpy(bytes + at % (size - 8), &word, n);
    } else {
        memcpy(bytes + at % (size - 8), &op->value, n);
    }
}

/* The process goes on while its file is read: whenever some of the recording is written, a ring's oldest events are gone. */
static struct {
    int fd;
    unsigned times, ring;
    uint64_t by;
} overtaking;

static void overtake(void)
{
    off_t at = (off_t)(PYUSDT_FLIGHT_AREA + overtaking.ring * sizeof(struct pyusdt_line) +
                       offsetof(struct pyusdt_line, tail));
    uint64_t tail = 0;

    if (overtaking.times == 0)
        return;
    overtaking.times--;
    if (pread(overtaking.fd, &tail, sizeof tail, at) != (ssize_t)sizeof tail)
        return; /* the file was cut */
    tail += overtaking.by;
    fuzz_require(pwrite(overtaking.fd, &tail, sizeof tail, at) == (ssize_t)sizeof tail, "pwrite");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool later = size > 0 && data[0] & 1; /* the recording is spoilt, not the recorder's file */
    size_t whole = later ? recording_size : flown_size;
    struct operation op;
    int fd;

    memcpy(scratch, later ? recording : flown, whole);
    overtaking.times = 0;
    for (unsigned i = 0; i < OPERATIONS_MAX && size >= sizeof op;
         i++, data += sizeof op, size -= sizeof op) {
        memcpy(&op, data, sizeof op);
        if (op.code / 2 == 6)
            whole = whole - op.value % (whole / 2);
        else if (op.code == 10)
            fuzz_fail(op.which, op.field);
        else if (op.code == 11)
            overtaking.times = op.field, overtaking.ring = op.which % 2, overtaking.by = op.value;
        else if (op.code / 2 == 4 && !later)
            whole = PYUSDT_FLIGHT_RINGS - op.field; /* cut where the rings begin */
        else
            change(scratch, whole, later ? op.at * 8ull + op.field % 8 : place_in_flight(&op), &op);
    }
    fd = file_of(scratch, whole);
    overtaking.fd = fd;
    if (!later)
        fuzz_before_write = overtake;
    replay(fd);
    fuzz_before_write = NULL;
    fuzz_fail(0, 0);
    return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[512];
    struct pyusdt_error error;
    int fd;

    (void)argc, (void)argv;
    fuzz_begin();
    setenv("PYUSDT_FLIGHT", "64k", 1);
    fuzz_require(pyusdt_publish(PROBES, sizeof PROBES / sizeof PROBES[0]) == 0, "publish");
    fuzz_require(pyusdt_flight(path, sizeof path) == 1, "a recorder");
    fly(path);
    pyusdt_unpublish();
    unlink(path);
    fd = pyusdt_flight_convert(file_of(flown, flown_size), &error);
    recording = read_whole(fd, &recording_size);
    scratch = malloc(flown_size > recording_size ? flown_size : recording_size);
    fuzz_require(scratch != NULL, "memory");
    fuzz_require(replay(file_of(flown, flown_size)) == replay(file_of(recording, recording_size)),
                 "all events, twice");
    fuzz_require(replay(file_of(flown, flown_size)) > 100, "the events of two rings");
    return 0;
}
