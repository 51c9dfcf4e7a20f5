/*
 * libFuzzer's harness for the file of a kept session: c/session/kept_session.c and session_dir.c.
 *
 * - An input is operations of 16 bytes (struct operation), which fuzz_mutator.c makes of each other: a tracer comes, polls, marks events
 *   as shown, leaves or is killed; the process fires; a word of the session file, of its wants, or of a ring's line is overwritten, the
 *   file is truncated, another is put in its place; a system call fails.
 * - A crash, a hang or a sanitizer's report is a bug. Every event that is delivered must be one that was fired. As long as nothing was
 *   damaged, each comes, and twice only if it is counted. Every second input, by its number of operations, damages nothing.
 * - Each input starts from an empty run directory except for the control file of this process.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../c/shared/os.h"
#include "../../c/session/kept_session.h"
#include "../../c/session/ring_merge.h"
#include "../../c/session/session.h"
#include "../../c/session/session_state.h"
#include "fuzz_reader.h"

static const struct pyusdt_probe_desc PROBES[] = {
    {.provider = "fuzz", .module = "m", .function = "f", .name = "s1", .nargs = 1},
};

static struct world {
    struct pyusdt_session *session;
    uint64_t fired, seen, again; /* seen: deliveries, by all tracers */
    bool spoilt;                 /* anything may be lost, or come twice */
    bool kept, left;             /* the session is one that is kept; there was one before */
    bool honest;                 /* nobody spoils anything */
} world;

static char comm[16];
enum { SPOILING = 9 }; /* the first operation that spoils */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_begin();
    pyusdt_os_program_name(comm, sizeof comm);
    return 0;
}

/* ---- a tracer ---- */

static int on_event(void *arg, const struct pyusdt_event *event)
{
    (void)arg;
    fuzz_require(world.spoilt || (event->args == 1 && event->arg[0] < world.fired),
                 "an event that was not fired");
    world.seen++;
    return 0;
}

/* Rarely: one that is not kept, and so has events for itself; with a name that is too long; of this program alone. */
static void come(const struct operation *op)
{
    const char *name =
        op->at % 16 == 13 ? "a name that is longer than any kept session's may be, by far" : "fuzz";
    struct pyusdt_session_config config = {.bufsize = 65536,
                                           .max_rings = 2,
                                           .orderlag_ns = 20000,
                                           .keep = op->at % 16 == 12 ? NULL : name,
                                           .comm = op->at % 16 == 7 ? comm : NULL,
                                           .keep_ns = 3600000000000ull,
                                           .keep_bytes = 1 << 20};
    struct pyusdt_want want = {.args = op->field % 8 == 0 ? 3 : 1};
    struct pyusdt_error error;

    if (world.session || pyusdt_session_open(fuzz_rundir, &config, &world.session, &error) != 0)
        return;
    if (pyusdt_session_want(world.session, &want) != 0 ||
        pyusdt_session_attach_all(world.session, &error) != 0 ||
        pyusdt_session_start(world.session, &error) != 0) {
        pyusdt_session_close(world.session);
        world.session = NULL;
        return;
    }
    world.kept = config.keep != NULL;
    world.spoilt |= !world.kept;
    fuzz_require(world.spoilt || pyusdt_session_is_resumed(world.session) == world.left,
                 "another session than was left");
}

static void poll(unsigned most)
{
    struct pyusdt_session_stats stats;

    if (!world.session)
        return;
    pyusdt_session_poll(world.session, UINT64_MAX, (int)most, on_event, NULL);
    pyusdt_session_stats(world.session, &stats);
    fuzz_require(stats.again <= stats.delivered, "more came again than came");
}

static void note_again(void)
{
    struct pyusdt_session_stats stats;

    pyusdt_session_stats(world.session, &stats);
    world.again += stats.again;
}

/* As SIGKILL leaves it: nothing is told, the lock goes. */
static void kill_tracer(void)
{
    struct pyusdt_session *session = world.session;

    note_again();
    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (session->rundir[i]->fd >= 0)
            close(session->rundir[i]->fd);
    pyusdt_session_free(session);
    world.session = NULL;
    world.left = true;
}

static void leave(void)
{
    note_again();
    if (world.kept)
        pyusdt_session_leave(world.session);
    else
        pyusdt_session_close(world.session);
    world.session = NULL;
    world.left = true;
}

/* ---- the process, and whoever spoils what is there ---- */

static void fire(unsigned n)
{
    struct pyusdt_args args = {.missing = 0};

    for (unsigned i = 0; i < n; i++) {
        args.value[0] = world.fired;
        if (!pyusdt_wanted(0) || !(pyusdt_demand(0) & PYUSDT_DEMAND_FIRE))
            return;
        world.fired++;
        pyusdt_fire(0, &args);
    }
}

static void spoil_session(const struct operation *op)
{
    int fd = fuzz_open_file(".session");

    if (fd < 0)
        return;
    world.spoilt = true;
    if (op->flags & 0x80)
        fuzz_require(ftruncate(fd, op->at % 2048) == 0, "ftruncate");
    else
        fuzz_require(pwrite(fd, &op->value, op->flags & 2 ? 4 : 8,
                            op->field % 64 * 4 + (op->flags & 4 ? 256 : 0)) > 0,
                     "pwrite");
    close(fd);
}

/* head, tail and what was read, of either ring */
static void spoil_line(const struct operation *op)
{
    static const unsigned words[] = {0, 8, 64, 72};
    int fd = fuzz_open_file(".area");

    if (fd < 0)
        return;
    world.spoilt = true;
    fuzz_require(pwrite(fd, &op->value, 8, words[op->field % 4] + (op->which & 1) * 128) == 8,
                 "pwrite");
    close(fd);
}

/* A session file of the same name, not ours, in another slot. */
static void plant(const struct operation *op)
{
    struct pyusdt_session_header header = {.magic = PYUSDT_SESSION_MAGIC,
                                           .version = PYUSDT_LAYOUT_VERSION,
                                           .state = op->flags & 1,
                                           .generation = op->value,
                                           .bufsize = 1ull << (op->field % 40),
                                           .max_rings = op->which,
                                           .nwants = op->flags >> 1,
                                           .name = "fuzz",
                                           .keep_ns = op->at,
                                           .seen = pyusdt_now()};
    char path[64];
    int fd;

    snprintf(path, sizeof path, "%s/%02u.session", fuzz_rundir, op->at % PYUSDT_MAX_SESSIONS);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return;
    world.spoilt = true;
    fuzz_require(write(fd, &header, sizeof header) == (ssize_t)sizeof header, "write");
    close(fd);
}

static void run(const struct operation *op)
{
    if (world.honest && op->code % OPERATIONS >= SPOILING)
        return;
    switch (op->code % OPERATIONS) {
    case 0:
    case 1:
        fire(op->field % 40);
        break;
    case 2:
    case 3:
        poll(op->which % 50);
        break;
    case 4:
    case 5:
        come(op);
        break;
    case 6:
        if (world.session)
            leave();
        break;
    case 7:
        if (world.session)
            kill_tracer();
        break;
    case 8:
        if (world.session)
            pyusdt_session_mark_shown(world.session);
        break;
    case 9:
        spoil_session(op);
        break;
    case 10:
        spoil_line(op);
        break;
    case 11:
        plant(op);
        break;
    case 12:
        world.spoilt = true;
        fuzz_fail(op->which, op->field);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pyusdt_session_stats stats;
    const struct operation right = {.field = 1};
    struct operation op;

    memset(&world, 0, sizeof world);
    world.honest = size / sizeof op % 2 == 0;
    fuzz_require(pyusdt_publish(PROBES, 1) == 0, "publish");
    for (unsigned i = 0; i < OPERATIONS_MAX && size >= sizeof op;
         i++, data += sizeof op, size -= sizeof op) {
        memcpy(&op, data, sizeof op);
        run(&op);
    }
    fuzz_fail(0, 0);
    if (!world.session)
        come(&right);
    for (int i = 0; i < 100 && world.session; i++)
        poll(0);
    if (world.session) {
        pyusdt_session_stats(world.session, &stats);
        world.again += stats.again;
        if (!world.spoilt)
            fuzz_require(world.fired <= world.seen + stats.dropped &&
                             world.seen + stats.dropped <= world.fired + world.again,
                         "the account does not hold");
        pyusdt_session_close(world.session);
    }
    pyusdt_unpublish();
    fuzz_remove_files();
    return 0;
}
