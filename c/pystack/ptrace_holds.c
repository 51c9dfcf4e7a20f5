/* See ptrace_holds.h. */
#define _GNU_SOURCE
#include "pystack/ptrace_holds.h"

#include <errno.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

enum {
    CHECKS =
        20, /* whether it has stopped, one after the other: one that is on another processor stops within microseconds */
    POLL = 20, /* microseconds between two later ones, and what the kernel adds to a sleep */
};

int64_t pyusdt_holds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- one thread ---- */

enum state { RUNS, STANDS, ENDED, UNKNOWN };

/* What the kernel says of a held thread now, without taking it from another waiter. */
static enum state read_state(pid_t tid, siginfo_t *info)
{
    *info = (siginfo_t){0};
    if (waitid(P_PID, (id_t)tid, info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) != 0)
        return UNKNOWN;
    if (info->si_pid != tid)
        return RUNS;
    return info->si_code == CLD_TRAPPED || info->si_code == CLD_STOPPED ? STANDS : ENDED;
}

#ifdef __x86_64__
static int number_them(const struct user_regs_struct *r, uint64_t *out)
{
    const uint64_t numbered[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi,
                                 r->rbp, r->rsp, r->r8,  r->r9,  r->r10, r->r11,
                                 r->r12, r->r13, r->r14, r->r15, r->rip};
    int n = sizeof numbered / sizeof *numbered;

    for (int i = 0; i < n; i++)
        out[i] = numbered[i];
    return n;
}
#else
static int number_them(const struct user_regs_struct *r, uint64_t *out)
{
    for (int i = 0; i < 31; i++)
        out[i] = r->regs[i];
    out[31] = r->sp;
    out[32] = r->pc;
    return 33;
}
#endif

static int read_registers(pid_t tid, uint64_t *out)
{
    struct user_regs_struct registers;
    struct iovec part = {&registers, sizeof registers};

    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &part) != 0 ||
        part.iov_len != sizeof registers)
        return -ESRCH; /* or a program of 32 bits */
    return number_them(&registers, out);
}

/* Asks it to stop. */
static int attach(pid_t tid)
{
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return errno == ESRCH ? -ESRCH : -EPERM;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    return 0;
}

/* With the signal that it was about to get, where it is that for which it has stopped and not our asking. */
static bool detach(pid_t tid, const siginfo_t *info)
{
    bool is_signal = info->si_status >> 8 == 0;

    return ptrace(PTRACE_DETACH, tid, NULL,
                  (void *)(uintptr_t)(is_signal ? info->si_status & 0x7f : 0)) == 0;
}

/* ---- the list ---- */

static struct pyusdt_hold *find_hold(struct pyusdt_holds *holds, pid_t tid)
{
    for (uint32_t i = 0; i < holds->n; i++)
        if (holds->hold[i].tid == tid)
            return &holds->hold[i];
    return NULL;
}

static void drop_hold(struct pyusdt_holds *holds, struct pyusdt_hold *hold)
{
    *hold = holds->hold[--holds->n];
}

/* It has ended: its parent hears of that once the ptracer has. */
static void reap_thread(struct pyusdt_holds *holds, struct pyusdt_hold *hold)
{
    if (hold->tid != holds->child)
        waitpid(hold->tid, NULL, WNOHANG | __WALL);
    drop_hold(holds, hold);
}

/* One that was killed while it stood is not released: it stays in the list until it has ended. */
static void release_thread(struct pyusdt_holds *holds, struct pyusdt_hold *hold)
{
    siginfo_t info;
    enum state state = read_state(hold->tid, &info);

    hold->unwanted = true;
    hold->stands = false;
    if (state == ENDED)
        reap_thread(holds, hold);
    else if (state == UNKNOWN || (state == STANDS && detach(hold->tid, &info)))
        drop_hold(holds, hold);
}

/* -EAGAIN: it has yet to stop; -ESRCH: it has ended; else 0. */
static int take_stop(struct pyusdt_holds *holds, struct pyusdt_hold *hold, int64_t limit)
{
    siginfo_t info;
    enum state state = read_state(hold->tid, &info);

    if (state == RUNS)
        return -EAGAIN;
    if (state == ENDED) {
        reap_thread(holds, hold);
        return -ESRCH;
    }
    if (state == UNKNOWN)
        return -ESRCH;
    if (!hold->stands)
        hold->until = pyusdt_holds_now() + limit;
    hold->stands = true;
    return 0;
}

static int request_stop(struct pyusdt_holds *holds, pid_t tid)
{
    struct pyusdt_hold *hold = find_hold(holds, tid);
    int r;

    if (hold) {
        hold->unwanted = false;
        return -EAGAIN;
    }
    if (holds->n == PYUSDT_HOLDS_MOST)
        return -ENOBUFS;
    r = attach(tid);
    if (r)
        return r;
    holds->hold[holds->n++] = (struct pyusdt_hold){.tid = tid};
    return -EAGAIN;
}

static int read_registers_if_stopped(struct pyusdt_holds *holds, struct pyusdt_stopped *thread,
                                     int64_t limit)
{
    struct pyusdt_hold *hold = find_hold(holds, thread->tid);
    int r = hold ? take_stop(holds, hold, limit) : -ESRCH;

    if (r)
        return r;
    r = read_registers(thread->tid, thread->registers);
    if (r < 0)
        release_thread(holds, hold);
    return r;
}

void pyusdt_holds_stop(struct pyusdt_holds *holds, struct pyusdt_stopped *threads, size_t n,
                       int64_t limit)
{
    int64_t until = pyusdt_holds_now() + 1000 * (int64_t)PYUSDT_STOP_TIMEOUT;
    struct timespec pause = {0, POLL * 1000};
    bool waits = true;

    for (size_t i = 0; i < n; i++)
        threads[i].result = request_stop(holds, threads[i].tid);
    for (int checks = 0; waits && (checks < CHECKS || pyusdt_holds_now() < until); checks++) {
        if (checks >= CHECKS)
            nanosleep(&pause, NULL);
        waits = false;
        for (size_t i = 0; i < n; i++) {
            if (threads[i].result == -EAGAIN)
                threads[i].result = read_registers_if_stopped(holds, &threads[i], limit);
            waits |= threads[i].result == -EAGAIN;
        }
    }
}

void pyusdt_holds_resume(struct pyusdt_holds *holds, struct pyusdt_stopped *threads, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct pyusdt_hold *hold = find_hold(holds, threads[i].tid);

        threads[i].result = hold && hold->stands;
        if (hold)
            release_thread(holds, hold);
    }
}

bool pyusdt_holds_check(struct pyusdt_holds *holds, int64_t limit)
{
    bool known = true;

    for (uint32_t i = holds->n; i-- > 0;) {
        struct pyusdt_hold *hold = &holds->hold[i];
        siginfo_t info;

        if (!hold->stands && read_state(hold->tid, &info) == UNKNOWN)
            known = false;
        else if (!hold->stands && take_stop(holds, hold, limit))
            continue;
        else if (hold->unwanted || pyusdt_holds_now() >= hold->until)
            release_thread(holds, hold);
    }
    return known;
}

void pyusdt_holds_end(struct pyusdt_holds *holds)
{
    for (uint32_t i = holds->n; i-- > 0;)
        release_thread(holds, &holds->hold[i]);
}

#else
typedef int
    pyusdt_no_holds; /* other systems and processors have another way each; none is written yet */
#endif
