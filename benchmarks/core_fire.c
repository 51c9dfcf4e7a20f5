/*
 * What one firing costs in the C core: core_fire THREADS EVENTS [ROUNDS [BUFSIZE]]
 *
 * THREADS threads fire EVENTS times each, with all ten arguments of i4s4 (proc, tag, four integers, one string of one
 * byte, the others absent), while a child process drains the rings as a tracer does. Every firing is what a producer of
 * pyusdt does: test the word, ask for the demand, fire. Prints, per round and thread, the CPU time of one event in ns;
 * then the median, and what the session's rings took of memory. Exit status 1 if an event was dropped: then the figures
 * are not those of a firing. BUFSIZE: bytes of a ring (64 MiB: room for a round, so that the reader's share of a
 * small machine does not show as drops).
 *
 * Build: gcc -O2 -std=gnu11 -pthread -Iinclude -Ic -o core_fire benchmarks/core_fire.c c/{rundir,slot,table,glob,guard,
 *        control,session,ring,tracer,target,sweep,reader,process}.c
 * Peer: an LTTng-UST tracepoint with the same fields, fired by as many threads (benchmarks/peers/lttng_fire.c).
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pyusdt.h"
#include "tracer/reader.h"

#define MAX_THREADS 64
#define MAX_ROUNDS 100

static const struct pyusdt_probe_desc PROBES[] = {{"bench", "core_fire", "fire", "user_trace-i4s4", 1, 0x3c3, 10}};
static long nevents;
static pthread_barrier_t barrier;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *fire_all(void *arg)
{
    struct pyusdt_args args = {
        .value = {(uintptr_t)"<1234.1234>", (uintptr_t)"request", 1, 2, 0, 0, (uintptr_t)"a"},
        .length = {11, 7, [6] = 1},
    };
    uint64_t begin;

    pthread_barrier_wait(&barrier);
    begin = cpu_ns();
    for (long i = 0; i < nevents; i++)
        if (pyusdt_wanted(0) && pyusdt_demand(0))
            pyusdt_fire(0, &args);
    *(double *)arg = (double)(cpu_ns() - begin) / (double)nevents;
    return NULL;
}

static int ignore(void *arg, const struct pyusdt_event *event)
{
    (void)arg, (void)event;
    return 0;
}

static volatile sig_atomic_t over;

static void on_term(int number)
{
    (void)number;
    over = 1;
}

/* The child: drains until it is told to end; says what was lost. */
static int drain(pid_t target, uint64_t bufsize, int ready)
{
    struct pyusdt_session_config config = {.bufsize = bufsize};
    struct pyusdt_want want = {.args = 0x3ff, .bytes = {256, 256, [6] = 256, 256, 256, 256}};
    struct pyusdt_session_stats stats;
    struct pyusdt_session *session;
    struct pyusdt_error error;

    signal(SIGTERM, on_term);
    if (pyusdt_session_open(NULL, &config, &session, &error) != 0 || pyusdt_session_want(session, &want) != 0 ||
        pyusdt_session_attach_pid(session, target, &error) != 0 || pyusdt_session_start(session, &error) != 0) {
        fprintf(stderr, "core_fire: %s\n", error.message);
        return 2;
    }
    if (write(ready, "r", 1) != 1)
        return 2;
    while (!over)
        if (pyusdt_session_poll(session, UINT64_MAX, 0, ignore, NULL) == 0)
            usleep(10000);
    pyusdt_session_stop(session);
    while (pyusdt_session_poll(session, UINT64_MAX, 0, ignore, NULL) > 0)
        ;
    pyusdt_session_stats(session, &stats);
    printf("delivered %" PRIu64 "  dropped %" PRIu64 "  out of order %" PRIu64 "  rings %.0f MiB\n", stats.delivered,
           stats.dropped, stats.out_of_order, (double)stats.bytes / (1 << 20));
    pyusdt_session_close(session);
    return stats.dropped != 0;
}

static int compare(const void *a, const void *b)
{
    return *(const double *)a < *(const double *)b ? -1 : 1;
}

int main(int argc, char **argv)
{
    int nthreads = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 3 ? atoi(argv[3]) : 5, status;
    int published[2], ready[2];
    uint64_t bufsize = argc > 4 ? strtoull(argv[4], NULL, 10) : 64u << 20;
    double took[MAX_ROUNDS * MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    char byte;
    pid_t child;

    nevents = argc > 2 ? atol(argv[2]) : 100000;
    if (nthreads < 1 || nthreads > MAX_THREADS || rounds < 1 || rounds > MAX_ROUNDS || pipe(published) != 0 ||
        pipe(ready) != 0)
        return 2;
    child = fork();
    if (child == 0) {
        close(published[1]);
        return read(published[0], &byte, 1) == 1 ? drain(getppid(), bufsize, ready[1]) : 2;
    }
    close(ready[1]);
    if (pyusdt_publish(PROBES, 1) != 0 || write(published[1], "p", 1) != 1 || read(ready[0], &byte, 1) != 1)
        return 2;
    pthread_barrier_init(&barrier, NULL, (unsigned)nthreads);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < nthreads; i++)
            pthread_create(&threads[i], NULL, fire_all, &took[round * nthreads + i]);
        for (int i = 0; i < nthreads; i++)
            pthread_join(threads[i], NULL);
        usleep(200000); /* the reader catches up */
    }
    kill(child, SIGTERM);
    if (waitpid(child, &status, 0) != child)
        return 2;
    for (int i = 0; i < rounds * nthreads; i++)
        printf("%.1f%s", took[i], (i + 1) % nthreads ? " " : "\n");
    qsort(took, (size_t)(rounds * nthreads), sizeof *took, compare);
    printf("median %.1f ns of CPU time an event, %d threads\n", took[rounds * nthreads / 2], nthreads);
    return WEXITSTATUS(status);
}
