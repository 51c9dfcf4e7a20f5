/*
 * libFuzzer's harness for what reads shared memory: the tracer's side, and the target's, in one process.
 *
 * In:  bytes, read as operations: fire a probe, poll, overwrite or cut a shared file, end the session.
 * Out: nothing; a crash, a hang or a sanitizer's complaint is a bug. Every event that is delivered must be whole: its
 *      probe known, its strings inside the event and ended by a NUL.
 * Always: each input starts from the same control file and an empty ring.
 *
 *     clang -fsanitize=fuzzer,address,undefined … ; ./fuzz_reader -handle_bus=0 CORPUS   (test_fuzz.py does it)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../c/tracer/tracer.h"

#define OPERATIONS_MAX 64
#define SPOILED_MAX (1u << 18) /* of a file: what lies behind is never touched */

static const struct pyusdt_probe_desc PROBES[] = {
    {.provider = "fuzz", .module = "m", .function = "f", .name = "s1", .nargs = 1, .strings = 1},
    {.provider = "fuzz", .module = "m", .function = "g", .name = "i4s4", .nargs = 10, .strings = 0x3c3},
    {.provider = "other", .module = "m", .function = "n", .name = "n", .nargs = 10, .strings = 0x3c3, .count = 50},
};
enum { NPROBES = 52 };

static char rundir[] = "/dev/shm/pyusdt-fuzz-XXXXXX";
static uint8_t control[SPOILED_MAX + 64]; /* as it is when nobody traces */
static size_t control_size;

struct input {
    const uint8_t *at;
    size_t left;
};

static uint32_t take(struct input *in, unsigned bytes)
{
    uint32_t value = 0;

    for (; bytes > 0 && in->left > 0; bytes--, in->left--)
        value = value << 8 | *in->at++;
    return value;
}

static void require(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_reader: %s\n", what);
        abort();
    }
}

/* Opens the first file whose name ends with this; -1: there is none. */
static int open_file(const char *ending)
{
    DIR *dir = opendir(rundir);
    struct dirent *entry;
    int fd = -1;

    require(dir != NULL, "no run directory");
    while (fd < 0 && (entry = readdir(dir)) != NULL) {
        size_t n = strlen(entry->d_name), m = strlen(ending);
        if (n > m && strcmp(entry->d_name + n - m, ending) == 0)
            fd = openat(dirfd(dir), entry->d_name, O_RDWR);
    }
    closedir(dir);
    return fd;
}

static void end(void)
{
    char command[64];

    pyusdt_unpublish();
    snprintf(command, sizeof command, "rm -rf %s", rundir);
    require(system(command) == 0, "the run directory stays");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    int fd;

    (void)argc, (void)argv;
    require(mkdtemp(rundir) != NULL, "mkdtemp");
    setenv("PYUSDT_RUNDIR", rundir, 1);
    require(pyusdt_publish(PROBES, sizeof PROBES / sizeof PROBES[0]) == 0, "publish");
    fd = open_file(".ctl");
    control_size = (size_t)pread(fd, control, sizeof control, 0);
    close(fd);
    require(control_size > 4096, "control file");
    atexit(end);
    return 0;
}

static void fire(struct input *in)
{
    static char text[PYUSDT_MAX_STRING + 1];
    struct pyusdt_args args = {{0}, {0}};
    uint32_t probe = take(in, 1) % NPROBES, times = take(in, 1) + 1;

    memset(text, 'x', sizeof text - 1);
    for (unsigned i = 0; i < 10; i++) {
        args.length[i] = take(in, 2) % sizeof text;
        args.value[i] = i < 2 || i > 5 || probe == 0 ? (uintptr_t)text : i;
    }
    while (times-- > 0)
        pyusdt_fire(probe, &args);
}

static int on_event(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_probe_info probe;
    struct pyusdt_target_info target;

    require(pyusdt_session_target(arg, event->target, &target) == 0, "an event of no target");
    require(pyusdt_session_probe(arg, event->target, event->probe, &probe) == 0, "an event of no probe");
    require(event->nargs <= PYUSDT_MAX_ARGS && event->ncaptures <= PYUSDT_MAX_ARGS, "too many arguments");
    for (uint32_t i = 0; i < event->ncaptures; i++) {
        require(event->capture[i].length <= PYUSDT_MAX_STRING, "a string that is too long");
        require(event->capture[i].data[event->capture[i].length] == '\0', "a string without end");
        for (uint32_t k = 0; k < event->capture[i].length; k++) /* every byte is ours to read */
            require(event->capture[i].data[k] != '\1' || event->time != 1 || event->cpu != 77, "never");
    }
    return 0;
}

/* Overwrites some bytes of a shared file, or cuts it (never the control file: the next input needs it). */
static void spoil(struct input *in, unsigned which)
{
    static const char *const endings[] = {".ctl", ".area", ".ring0", ".ring1", ".session"};
    uint8_t bytes[32];
    uint32_t offset = take(in, 3) % SPOILED_MAX, n = take(in, 1);
    int fd = open_file(endings[which]);

    if (fd < 0)
        return;
    if (n == 255 && which != 0)
        require(ftruncate(fd, offset) == 0, "ftruncate");
    n %= sizeof bytes;
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)take(in, 1);
    if (which != 0 || offset + n <= control_size)
        require(pwrite(fd, bytes, n, offset) == (ssize_t)n, "pwrite");
    close(fd);
}

/* A word of the area or of an event that matters, rather than any byte: heads, tails, sizes. */
static void spoil_word(struct input *in)
{
    uint32_t field = take(in, 1), value = take(in, 3);
    uint64_t word = field & 0x80 ? (uint64_t)-(int64_t)value : value;
    int fd = open_file(".area");

    if (fd < 0)
        return;
    if (field & 0x40)
        word = value & 1 ? UINT64_MAX : 65536;
    require(pwrite(fd, &word, 8, (field & 0x3f) * 8) == 8, "pwrite");
    close(fd);
}

static struct pyusdt_session *open_session(void)
{
    struct pyusdt_session_config config = {.bufsize = 65536, .max_rings = 2, .orderlag_ns = 1};
    struct pyusdt_want want = {.args = 0x3ff};
    struct pyusdt_session *session;
    struct pyusdt_error error;

    for (unsigned i = 0; i < 10; i++)
        want.bytes[i] = 200;
    require(pyusdt_session_open(rundir, &config, &session, &error) == 0, error.message);
    require(pyusdt_session_want(session, &want) == 0, "want");
    require(pyusdt_session_attach_all(session, &error) == 0, "attach");
    require(pyusdt_session_start(session, &error) == 0, "start");
    return session;
}

static void restore(void)
{
    int fd = open_file(".ctl");

    if (fd < 0) { /* swept: a state that says "exited" made it garbage */
        pyusdt_unpublish();
        require(pyusdt_publish(PROBES, sizeof PROBES / sizeof PROBES[0]) == 0, "publish again");
        fd = open_file(".ctl");
        control_size = (size_t)pread(fd, control, sizeof control, 0);
    }
    require(pwrite(fd, control, control_size, 0) == (ssize_t)control_size, "restore");
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct pyusdt_session *session = open_session();
    struct pyusdt_session_stats stats;
    int stopped = 0;

    for (int i = 0; i < OPERATIONS_MAX && in.left > 0; i++) {
        uint32_t operation = take(&in, 1) % 10;
        if (operation < 5)
            spoil(&in, operation);
        else if (operation == 5)
            spoil_word(&in);
        else if (operation < 8)
            fire(&in);
        else if (operation == 8)
            pyusdt_session_poll(session, UINT64_MAX, (int)take(&in, 1), on_event, session);
        else if (!stopped++)
            pyusdt_session_stop(session);
    }
    for (int i = 0; i < 100 && pyusdt_session_poll(session, UINT64_MAX, 0, on_event, session) > 0; i++)
        ;
    pyusdt_session_stats(session, &stats);
    require(stats.targets <= 1 + OPERATIONS_MAX, "targets out of nothing");
    pyusdt_session_close(session);
    restore();
    return 0;
}
