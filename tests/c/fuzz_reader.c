/*
 * libFuzzer's harness for what reads shared memory: the tracer's side, and the target's, in one process.
 *
 * - An input is operations of 16 bytes (struct operation), which fuzz_mutator.c makes of each other: fire, poll, overwrite or truncate a
 *   shared file, forge a process with rings of its own, fail a system call, end the session.
 * - A crash, a hang or a sanitizer's report is a bug. Every event that is delivered must be whole (its probe known, its strings inside the
 *   event and ended by a NUL), and counted: delivered, out of order.
 * - Each input starts from the same control file and an empty ring.
 *
 *     clang -fsanitize=fuzzer,address,undefined … ; ./fuzz_reader -handle_bus=0 CORPUS   (test_libfuzzer.py does it)
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../c/session/list_probes.h"
#include "../../c/session/ring_merge.h"
#include "../../c/session/session.h"
#include "../../c/session/session_state.h"
#include "../../c/session/stale_files.h"
#include "../../c/session/target_counts.h"
#include "fuzz_reader.h"

#define SPOILED_MAX (1u << 18) /* of a file: what lies behind is never touched */

static const struct pyusdt_probe_desc PROBES[] = {
    {.provider = "fuzz", .module = "m", .function = "f", .name = "s1", .nargs = 1, .strings = 1},
    {.provider = "fuzz",
     .module = "m",
     .function = "g",
     .name = "i4s4",
     .nargs = 10,
     .strings = 0x3c3},
    {.provider = "other",
     .module = "m",
     .function = "n",
     .name = "n",
     .nargs = 10,
     .strings = 0x3c3,
     .count = 50},
};
static const struct pyusdt_probe_desc MORE = {"late", "m", "l", "late", 1, 1, 2, 0, NULL};

static uint8_t control[SPOILED_MAX]; /* as it is when nobody traces */

/* What one input has made so far. */
static struct world {
    struct pyusdt_session *session, *second;
    struct forged forged[FORGED];
    uint64_t delivered, unordered, last;
    bool stopped, republished;
} world;

static void publish(void)
{
    int fd;

    fuzz_require(pyusdt_publish(PROBES, sizeof PROBES / sizeof PROBES[0]) == 0, "publish");
    fd = fuzz_open_file(".ctl");
    fuzz_require(pread(fd, control, sizeof control, 0) == (ssize_t)sizeof control, "control file");
    close(fd);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_begin();
    publish();
    return 0;
}

/* ---- what is delivered ---- */

static void check_where(const struct pyusdt_session *session, const struct pyusdt_event *event)
{
    struct pyusdt_probe_info probe;
    struct pyusdt_place_info place;
    struct pyusdt_target_info target;

    fuzz_require(pyusdt_session_target(session, event->target, &target) == 0,
                 "an event of no target");
    fuzz_require(pyusdt_session_probe(session, event->target, event->probe, &probe) == 0,
                 "an event of no probe");
    fuzz_require(event->place == 0 ||
                     pyusdt_session_place(session, event->target, event->place, &place) == 0,
                 "an event of no place");
    if (event->place != 0)
        fuzz_require(strlen(place.module) <= PYUSDT_PLACE_MODULE &&
                         strlen(place.function) <= PYUSDT_PLACE_FUNCTION &&
                         strlen(place.file) <= PYUSDT_PLACE_FILE,
                     "a place's name without end");
}

static int on_count(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_session *session = arg;

    check_where(session, event);
    fuzz_require(event->place != 0 && event->arg[0] != 0 &&
                     PYUSDT_COUNT(event->arg[0]) == event->arg[0],
                 "no count");
    world.delivered += event->arg[0];
    return 0;
}

static int on_event(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_session *session = arg;

    check_where(session, event);
    fuzz_require(event->args >> PYUSDT_MAX_ARGS == 0 && event->ncaptures <= PYUSDT_MAX_ARGS,
                 "too many arguments");
    for (uint32_t i = 0; i < event->ncaptures; i++) {
        const struct pyusdt_capture *capture = &event->capture[i];
        fuzz_require(capture->length <= PYUSDT_MAX_STRING, "a string that is too long");
        fuzz_require(capture->data[capture->length] == '\0', "a string without end");
        for (uint32_t k = 0; k < capture->length; k++) /* every byte is ours to read */
            fuzz_require(capture->data[k] != '\1' || event->time != 1 || event->cpu != 77, "never");
    }
    fuzz_require(event->nframes <= PYUSDT_MAX_FRAMES, "a stack that is too deep");
    for (uint32_t k = 0; k < 8 * event->nframes; k++)
        fuzz_require(event->frames[k] != 1 || event->time != 1 || event->cpu != 77, "never");
    if (session == world.session) {
        world.delivered++;
        world.unordered += event->time < world.last;
        world.last = event->time > world.last ? event->time : world.last;
    }
    return 0;
}

static int on_probe(void *arg, const struct pyusdt_target_info *target,
                    const struct pyusdt_probe_info *probe)
{
    (void)target;
    fuzz_require(strlen(probe->name) < 4096 && strlen(probe->provider) < 4096,
                 "a name without end");
    return ++*(int *)arg > 5000;
}

/* ---- operations ---- */

static void fire(const struct operation *op)
{
    static char text[PYUSDT_MAX_STRING + 1];
    struct pyusdt_args args = {.missing = 0};

    memset(text, 'x', sizeof text - 1);
    for (unsigned i = 0; i < 10; i++) {
        args.length[i] = (op->at >> i) % sizeof text;
        args.value[i] = i < 2 || i > 5 || op->which == 0 ? (uintptr_t)text : i;
    }
    for (unsigned n = 0; n <= op->field; n++) {
        pyusdt_demand(op->which % NPROBES);
        pyusdt_fire(op->which % NPROBES, &args);
    }
}

/* Overwrites some bytes of a shared file, or cuts it (never the control file: the next input needs it). */
static void spoil(const struct operation *op)
{
    static const char *const endings[] = {".ctl", ".area", ".ring0", ".ring1", ".session"};
    unsigned which = op->which % 5;
    int fd = fuzz_open_file(endings[which]);

    if (fd < 0)
        return;
    if (op->flags & 0x80 && which != 0)
        fuzz_require(ftruncate(fd, op->at % SPOILED_MAX) == 0, "ftruncate");
    else
        fuzz_require(pwrite(fd, &op->value, op->field % 8 + 1, op->at % (SPOILED_MAX - 8)) > 0,
                     "pwrite");
    close(fd);
}

/* A word of the area that matters, rather than any byte. */
static void spoil_line(const struct operation *op)
{
    static const unsigned words[] = {
        0, 8, 64, 128 * 16, 128 * 16 + 8, 128 * 16 + 16, 128 * 16 + 24, 128 * 16 + 32};
    int fd = fuzz_open_file(".area");

    if (fd < 0)
        return;
    fuzz_require(pwrite(fd, &op->value, 8, words[op->field % 8] + (op->which & 1) * 128) == 8,
                 "pwrite");
    close(fd);
}

static void ask(const struct operation *op)
{
    struct pyusdt_session_stats stats;
    struct pyusdt_target_info target;
    struct pyusdt_probe_info probe;
    struct pyusdt_error error;
    struct pyusdt_want want = {.args = 1};
    int seen = 0;

    pyusdt_session_stats(world.session, &stats);
    pyusdt_session_target(world.session, op->which, &target);
    pyusdt_session_probe(world.session, op->which, op->at, &probe);
    pyusdt_session_drops(world.session, op->which, op->at);
    fuzz_require(pyusdt_session_watermark(world.session) <= pyusdt_now(),
                 "a watermark of the future");
    fuzz_require(pyusdt_session_want(world.session, &want) == -EBUSY, "a want after the start");
    if (op->flags & 1)
        pyusdt_list_probes(fuzz_rundir, 0, false, on_probe, &seen, &error);
    if (op->flags & 2)
        pyusdt_session_expect_pid(world.session, (pid_t)op->value, &error);
    if (op->flags & 4)
        pyusdt_session_attach_pid(world.session,
                                  op->field & 1 ? getpid() : (pid_t)(op->value % 70000), &error);
    pyusdt_remove_stale_files(world.session->rundir[0]->in.dir,
                              world.session->rundir[0]->header.slot);
}

/* What is not a file of ours, or has no reader any more, under a name of ours. */
static void plant(const struct operation *op)
{
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_name name = {
        .kind = 1 + op->which % 4,
        .process = {op->field & 1 ? (uint32_t)getpid() : DEAD_PID, op->field, op->value},
        .slot = op->at % PYUSDT_MAX_SESSIONS,
        .generation = op->value,
        .ring = op->flags % PYUSDT_RINGS_MAX};
    int fd;

    if (op->flags & 0x80)
        snprintf(text, sizeof text, "%u-%llu-%u.ctl.%x", op->at, (unsigned long long)op->value,
                 op->field, op->which);
    else
        pyusdt_name_format(&name, text);
    fd = openat(world.session->rundir[0]->in.dir, text, O_RDWR | O_CREAT | O_EXCL,
                op->flags & 0x40 ? 0644 : 0600);
    if (fd < 0)
        return;
    fuzz_require(ftruncate(fd, op->at % 70000) == 0, "ftruncate");
    close(fd);
}

static struct pyusdt_session *open_session(unsigned kind)
{
    struct pyusdt_session_config config = {
        .bufsize = 65536, .max_rings = kind == 1 ? 99 : 2, .orderlag_ns = 20000};
    struct pyusdt_want want = {.args = 0x3ff, .counts = 1};
    struct pyusdt_session *session;
    struct pyusdt_error error;

    for (unsigned i = 0; i < 10; i++)
        want.bytes[i] = 200;
    if (kind == 1)
        config.bufsize = 100000;
    if (pyusdt_session_open(kind == 2 ? NULL : fuzz_rundir, &config, &session, &error) != 0)
        return NULL;
    if (pyusdt_session_want(session, &want) != 0 ||
        pyusdt_session_attach_all(session, &error) != 0 ||
        pyusdt_session_start(session, &error) != 0) {
        pyusdt_session_close(session);
        return NULL;
    }
    return session;
}

static void do_second(const struct operation *op)
{
    if (!world.second)
        world.second = open_session(op->which % 3);
    else if (op->flags & 1)
        pyusdt_session_poll(world.second, UINT64_MAX, op->which, on_event, world.second);
    else {
        pyusdt_session_close(world.second);
        world.second = NULL;
    }
}

static void republish(const struct operation *op)
{
    world.republished = true;
    if (op->flags & 1) {
        pyusdt_publish_more(&MORE, 1);
        return;
    }
    pyusdt_unpublish();
    pyusdt_publish(PROBES, sizeof PROBES / sizeof PROBES[0]);
}

static void poll(const struct operation *op)
{
    uint64_t until = op->flags & 1 ? pyusdt_now() - op->at : UINT64_MAX;
    pyusdt_session_poll(world.session, until, op->which, on_event, world.session);
    if (op->flags & 2)
        pyusdt_session_deliver_counts(world.session, on_count, world.session);
}

static void stop(const struct operation *op)
{
    (void)op;
    pyusdt_session_stop(world.session);
    world.stopped = true;
}

static void run(const struct operation *op)
{
    struct forged *forged = &world.forged[op->which % FORGED];
    uint64_t generation = world.session->rundir[0]->header.generation;

    fuzz_pause(op->code % OPERATIONS >= SPOIL && op->code % OPERATIONS < FAIL);
    switch (op->code % OPERATIONS) {
    case FIRE:
        fire(op);
        break;
    case POLL:
        poll(op);
        break;
    case SPOIL:
        spoil(op);
        break;
    case SPOIL_LINE:
        spoil_line(op);
        break;
    case STOP:
        stop(op);
        break;
    case ASK:
        ask(op);
        break;
    case PLANT:
        plant(op);
        break;
    case SECOND:
        do_second(op);
        break;
    case REPUBLISH:
        republish(op);
        break;
    case FAIL:
        fuzz_fail(op->which, op->field);
        break;
    case FORGE:
        fuzz_forge(forged, op, world.session->rundir[0]->in.dir, generation);
        break;
    case EVENT:
        fuzz_forge_event(forged, op);
        break;
    case FORGED_WORD:
        fuzz_forge_word(forged, op, generation);
        break;
    }
}

/* ---- one input ---- */

static void restore(void)
{
    int fd;

    for (unsigned i = 0; i < FORGED; i++)
        fuzz_forged_end(&world.forged[i]);
    fd = world.republished ? -1 : fuzz_open_file(".ctl");
    if (fd < 0) { /* or swept: a state that says "exited" made it garbage */
        pyusdt_unpublish();
        fuzz_remove_files();
        publish();
        return;
    }
    fuzz_require(pwrite(fd, control, sizeof control, 0) == (ssize_t)sizeof control, "restore");
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pyusdt_session_stats stats;
    struct operation op;

    memset(&world, 0, sizeof world);
    world.session = open_session(0);
    fuzz_require(world.session != NULL, "no session");
    for (unsigned i = 0; i < OPERATIONS_MAX && size >= sizeof op;
         i++, data += sizeof op, size -= sizeof op) {
        memcpy(&op, data, sizeof op);
        run(&op);
    }
    fuzz_fail(0, 0);
    for (int i = 0;
         i < 100 && pyusdt_session_poll(world.session, UINT64_MAX, 0, on_event, world.session) > 0;
         i++)
        ;
    pyusdt_session_stats(world.session, &stats);
    fuzz_require(stats.delivered == world.delivered, "delivered is not what was delivered");
    fuzz_require(stats.out_of_order == world.unordered,
                 "out of order is not what was out of order");
    fuzz_require(stats.targets <= 2 * OPERATIONS_MAX, "targets out of nothing");
    pyusdt_session_close(world.second);
    pyusdt_session_close(world.session);
    restore();
    return 0;
}
