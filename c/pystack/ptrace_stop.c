/* See ptrace_stop.h. */
#define _GNU_SOURCE
#include "pystack/ptrace_stop.h"

#include <errno.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "pystack/ptrace_holder.h"

static struct pyusdt_holder
    *holder;                    /* of this process; started when a thread is to be stopped first */
static struct pyusdt_holds own; /* what this process holds itself */

/* ---- Ctrl-Z waits until the threads go on ---- */

static bool blocked;
static sigset_t unblocked; /* the signals of the calling thread before */

static void block_stops(void)
{
    sigset_t stops;

    if (blocked)
        return;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaddset(&stops, SIGTTIN);
    sigaddset(&stops, SIGTTOU);
    blocked = pthread_sigmask(SIG_BLOCK, &stops, &unblocked) == 0;
}

static void unblock_stops(void)
{
    if (blocked)
        pthread_sigmask(SIG_SETMASK, &unblocked, NULL);
    blocked = false;
}

/* ---- the holder ---- */

static int need_holder(void)
{
    if (holder && !pyusdt_holder_is_own(holder)) { /* a forked child of the tracer */
        pyusdt_holder_end(holder);
        holder = NULL;
        own.n = 0;
    }
    return holder ? 0 : pyusdt_holder_start(&holder);
}

static void give_up_holder(void)
{
    pyusdt_holder_end(holder);
    holder = NULL;
}

pid_t pyusdt_stop_holder(void)
{
    return holder && pyusdt_holder_is_own(holder) ? pyusdt_holder_pid(holder) : 0;
}

/* ---- going on ---- */

/* What this process holds itself, to the front. */
static size_t split_own(struct pyusdt_stopped *threads, size_t n)
{
    size_t ours = 0;

    for (size_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < own.n; k++)
            if (own.hold[k].tid == threads[i].tid) {
                pid_t tid = threads[i].tid;
                threads[i].tid = threads[ours].tid;
                threads[ours++].tid = tid;
                break;
            }
    return ours;
}

static void let_go(struct pyusdt_stopped *threads, size_t n)
{
    size_t ours = split_own(threads, n);

    pyusdt_holds_resume(&own, threads, ours);
    for (size_t i = ours; i < n; i++)
        threads[i].result = 0;
    if (ours < n && holder && pyusdt_holder_is_own(holder) &&
        pyusdt_holder_go_on(holder, threads + ours, n - ours) != 0)
        give_up_holder();
}

/* ---- stopping ---- */

static bool is_of(const struct pyusdt_memory *memory, pid_t tid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)memory->pid, (int)tid);
    return access(path, F_OK) == 0 && pyusdt_memory_is_same_process(memory);
}

/* By this process: what its holder may not stop, though its ptracer could be this one. */
static void stop_ourselves(const struct pyusdt_memory *memory, bool is_child,
                           struct pyusdt_stopped *threads, size_t n)
{
    own.child = is_child ? memory->pid : 0;
    if (own.n > 0)
        pyusdt_holds_check(&own, INT64_MAX / 2);
    for (size_t i = 0; i < n; i++)
        if (threads[i].result == -EPERM)
            pyusdt_holds_stop(&own, &threads[i], 1, INT64_MAX / 2);
}

/* Those of other processes are released: one had the id until just now, or has it by now.  How many stand still. */
static size_t keep_its(const struct pyusdt_memory *memory, struct pyusdt_stopped *threads, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (threads[i].result < 0)
            continue;
        kept++;
        if (is_of(memory, threads[i].tid)) /* while it stands no other thread gets its id */
            continue;
        let_go(&threads[i], 1);
        threads[i].result = -ESRCH;
        kept--;
    }
    return kept;
}

static int stop_all(const struct pyusdt_memory *memory, bool is_child,
                    struct pyusdt_stopped *threads, size_t n)
{
    int r = need_holder();

    if (r)
        return r;
    r = pyusdt_holder_stop(holder, threads, n);
    if (r) {
        give_up_holder();
        return r;
    }
    stop_ourselves(memory, is_child, threads, n);
    return 0;
}

int pyusdt_stop_threads(const struct pyusdt_memory *memory, bool is_child,
                        struct pyusdt_stopped *threads, size_t n)
{
    size_t found = 0;
    int r;

    if (memory->pid == getpid()) /* nothing would release it */
        return -EPERM;
    for (size_t i = 0; i < n; i++)
        if (is_of(memory, threads[i].tid))
            threads[found++].tid = threads[i].tid;
    for (size_t i = found; i < n; i++)
        threads[i] = (struct pyusdt_stopped){.result = -ESRCH};
    if (found == 0)
        return 0;
    block_stops();
    r = stop_all(memory, is_child, threads, found);
    if (r || keep_its(memory, threads, found) == 0)
        unblock_stops();
    return r;
}

void pyusdt_resume_threads(struct pyusdt_stopped *threads, size_t n)
{
    let_go(threads, n);
    unblock_stops();
}

#else /* other systems and processors have another way each; none is written yet */

int pyusdt_stop_threads(const struct pyusdt_memory *memory, bool is_child,
                        struct pyusdt_stopped *threads, size_t n)
{
    (void)memory;
    (void)is_child;
    (void)threads;
    (void)n;
    return -ENOSYS;
}

void pyusdt_resume_threads(struct pyusdt_stopped *threads, size_t n)
{
    (void)threads;
    (void)n;
}

pid_t pyusdt_stop_holder(void)
{
    return 0;
}

#endif
