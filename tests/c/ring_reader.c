/*
 * A tracer that checks everything it gets: ring_reader [option …] [-- command …]
 *
 *   bufsize=N rings=N orderlag=US
 *   all        traces every process of the run directory
 *   pid=N      and/or this one, which runs
 *   pause=US   between polls
 *   ms=N       ends after this time (else: when all targets that it has seen are gone)
 *   targets=N  waits for at least so many
 *   events=N   ends after so many events
 *   die=N      SIGKILLs itself after so many
 *   want=P:N   probes N of the provider P, in the place of ring_target's
 *   keep=NAME  as the tracer of a kept session, which goes on when this one ends
 *   tell       writes how many events each poll gave, and how many so far came again, then says that they were shown
 *   mute=N     SIGKILLs itself when it has written that N times, before it says so
 *   child=MS   forks when the session has started: the child tries what it must not be able to, and lives on for that long
 *   alive      writes "ready" to stdout once the session has started
 * With a command: traces that. Prints one line of JSON at the end: the session's statistics and what was wrong.
 * HOOK: see hook_kill.h.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hook_kill.h"
#include "discovery/find_process.h"
#include "session/kept_session.h"
#include "session/list_probes.h"
#include "session/ring_merge.h"
#include "session/session.h"
#include "session/session_warnings.h"
#include "session/target_counts.h"
#include "session/target_remarks.h"
#include "session/user_work.h"
#include "traced.h"

#define MAX_TARGETS 1024

static struct pyusdt_session_config config;
static struct pyusdt_session *session;
static uint64_t pause_us = 1000, end_ms, end_events, die_events, min_targets, mute, child_ms;
static const char *keep;
static struct pyusdt_want want = {
    .provider = "pyusdt*", .name = "*-i4*", .args = 0x27, .bytes = {[TEXT_ARGUMENT] = 256}};
static int trace_all, tell_ready, tell_polls;
static pid_t pids[PYUSDT_PIDS_MAX];
static unsigned npids;

static uint64_t bad, unordered, repeated, last_time, events;
static int64_t last_sequence[MAX_TARGETS][MAX_THREADS];
static uint64_t per_thread[MAX_THREADS];

static int on_event(void *arg, const struct pyusdt_event *event)
{
    char expected[128];
    uint64_t thread = event->arg[0], sequence = event->arg[1];
    uint32_t length = text(thread, sequence, expected, sizeof expected);
    int64_t *last = &last_sequence[event->target % MAX_TARGETS][thread % MAX_THREADS];

    (void)arg;
    if (thread >= MAX_THREADS || event->arg[2] != checksum(thread, sequence) ||
        event->probe != PROBE_I4S4 || event->args != want.args || event->arg[3] != 0 ||
        event->ncaptures != 1 || event->capture[0].index != TEXT_ARGUMENT ||
        event->capture[0].length != length ||
        memcmp(event->capture[0].data, expected, length + 1) != 0 || event->tid == 0)
        bad++;
    else
        per_thread[thread]++;
    repeated += *last >= (int64_t)sequence + 1;
    *last = (int64_t)sequence + 1;
    unordered += event->time < last_time;
    last_time = event->time;
    events++;
    if (die_events && events == die_events)
        raise(SIGKILL);
    return end_events != 0 && events == end_events;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void fail(int code, const struct pyusdt_error *error)
{
    printf("{\"error\": %d, \"message\": \"%s\"}\n", code, error->message);
    pyusdt_session_close(session);
    exit(1);
}

static void tell(int n)
{
    struct pyusdt_session_stats stats;
    char text[64];
    int size;

    if (!tell_polls || n == 0)
        return;
    pyusdt_session_stats(session, &stats);
    size = snprintf(text, sizeof text, "%d %" PRIu64 "\n", n, stats.again);
    if (write(STDOUT_FILENO, text, (size_t)size) != size || (mute && --mute == 0))
        raise(SIGKILL);
    pyusdt_session_mark_shown(session);
}

static void trace(pid_t child)
{
    uint64_t begin = now_ms();
    struct pyusdt_session_stats stats;
    int n, child_gone = child == 0;

    for (;;) {
        n = pyusdt_session_poll(session, UINT64_MAX, 0, on_event, NULL);
        tell(n);
        pyusdt_session_stats(session, &stats);
        child_gone |= child != 0 && waitpid(child, NULL, WNOHANG) != 0;
        if ((end_ms && now_ms() - begin >= end_ms) || (end_events && events >= end_events))
            break;
        if (!end_ms && n == 0 && child_gone && stats.alive == 0 && stats.targets >= min_targets)
            break;
        if (n == 0 || pause_us > 1000)
            usleep((useconds_t)pause_us);
    }
    if (keep)
        return;
    pyusdt_session_stop(session);
    end_events = 0;
    while (pyusdt_session_poll(session, UINT64_MAX, 0, on_event, NULL) > 0)
        ;
}

static void report(void)
{
    struct pyusdt_session_stats stats;
    uint64_t by_probe = 0;

    pyusdt_session_stats(session, &stats);
    for (uint32_t i = 0; i < stats.targets; i++) {
        int64_t drops = pyusdt_session_drops(session, i, PROBE_I4S4);
        by_probe += drops > 0 ? (uint64_t)drops : 0;
    }
    printf("{\"delivered\": %" PRIu64 ", \"dropped\": %" PRIu64 ", \"by_probe\": %" PRIu64
           ", \"out_of_order\": %" PRIu64 ", \"again\": %" PRIu64 ", \"corrupt\": %" PRIu64
           ", \"bad\": %" PRIu64 ", \"unordered\": %" PRIu64 ", \"repeated\": %" PRIu64
           ", \"targets\": %u, \"threads\": [",
           stats.delivered, stats.dropped, by_probe, stats.out_of_order, stats.again, stats.corrupt,
           bad, unordered, repeated, stats.targets);
    for (unsigned i = 0, first = 1; i < MAX_THREADS; i++)
        if (per_thread[i]) {
            printf("%s%" PRIu64, first ? "" : ", ", per_thread[i]);
            first = 0;
        }
    printf("]}\n");
}

static char **options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        unsigned long long value =
            strchr(argv[i], '=') ? strtoull(strchr(argv[i], '=') + 1, NULL, 10) : 0;
        size_t name = strcspn(argv[i], "=");
        if (strcmp(argv[i], "--") == 0)
            return argv + i + 1;
        trace_all |= strcmp(argv[i], "all") == 0;
        tell_polls |= strcmp(argv[i], "tell") == 0;
        tell_ready |= strcmp(argv[i], "alive") == 0;
        if (strncmp(argv[i], "bufsize", name) == 0)
            config.bufsize = value;
        else if (strncmp(argv[i], "rings", name) == 0)
            config.max_rings = (uint32_t)value;
        else if (strncmp(argv[i], "orderlag", name) == 0)
            config.orderlag_ns = value * 1000;
        else if (strncmp(argv[i], "pause", name) == 0)
            pause_us = value;
        else if (strncmp(argv[i], "ms", name) == 0)
            end_ms = value;
        else if (strncmp(argv[i], "events", name) == 0)
            end_events = value;
        else if (strncmp(argv[i], "die", name) == 0)
            die_events = value;
        else if (strncmp(argv[i], "targets", name) == 0)
            min_targets = value;
        else if (strncmp(argv[i], "mute", name) == 0)
            mute = value;
        else if (strncmp(argv[i], "child", name) == 0)
            child_ms = value;
        else if (strncmp(argv[i], "keep", name) == 0)
            config.keep = keep = strchr(argv[i], '=') + 1;
        else if (strncmp(argv[i], "want", name) == 0)
            sscanf(argv[i], "want=%127[^:]:%127s", want.provider, want.name);
        else if (strncmp(argv[i], "pid", name) == 0)
            pids[npids++] = (pid_t)value;
    }
    return NULL;
}

static pid_t spawn(char **command)
{
    int gate[2];
    char byte;
    pid_t child;

    if (pipe(gate) != 0 || (child = fork()) < 0)
        exit(3);
    if (child == 0) { /* nothing before the session is in place */
        close(gate[1]);
        unsetenv("HOOK");
        if (getenv("TARGET_HOOK"))
            setenv("HOOK", getenv("TARGET_HOOK"), 1);
        if (read(gate[0], &byte, 1) == 1)
            execv(command[0], command);
        _exit(127);
    }
    close(gate[0]);
    struct pyusdt_error error;
    int r = pyusdt_session_expect_pid(session, child, &error);
    if (r == 0)
        r = pyusdt_session_start(session, &error);
    if (r != 0)
        fail(r, &error);
    if (write(gate[1], "g", 1) != 1)
        exit(3);
    close(gate[1]);
    return child;
}

/* What a forked child can do with its copy of the session: nothing that anybody sees. */
static pid_t fork_child(void)
{
    struct pyusdt_error error;
    pid_t child = fork();

    if (child != 0)
        return child;
    usleep(20000); /* there is something to read by now */
    if (pyusdt_session_poll(session, UINT64_MAX, 0, on_event, NULL) != 0 ||
        pyusdt_session_attach_pid(session, getppid(), &error) == 0)
        abort();
    pyusdt_session_stop(session);
    pyusdt_session_mark_shown(session);
    if (keep)
        pyusdt_session_leave(session);
    else
        pyusdt_session_close(session);
    usleep((useconds_t)child_ms * 1000);
    _exit(0);
}

int main(int argc, char **argv)
{
    char **command = options(argc, argv);
    struct pyusdt_error error = {0};
    pid_t child = 0, forked = 0;
    int status = 0;
    config.keep_ns = keep ? 3600000000000ull : 0;
    config.keep_bytes = 1ull << 28;
    int r = pyusdt_session_open(NULL, &config, &session, &error);

    if (r == 0)
        r = pyusdt_session_want(session, &want);
    if (r == 0 && trace_all)
        r = pyusdt_session_attach_all(session, &error);
    for (unsigned i = 0; r == 0 && i < npids; i++)
        r = pyusdt_session_attach_pid(session, pids[i], &error);
    if (r != 0)
        fail(r, &error);
    if (command)
        child = spawn(command);
    else if ((r = pyusdt_session_start(session, &error)) != 0)
        fail(r, &error);
    if (child_ms)
        forked = fork_child();
    if (tell_ready && write(STDOUT_FILENO, "ready\n", 6) != 6)
        return 3;
    trace(child);
    report();
    if (forked && (waitpid(forked, &status, 0) != forked || status != 0))
        return 4;
    if (keep)
        pyusdt_session_leave(session);
    else
        pyusdt_session_close(session);
    return 0;
}
