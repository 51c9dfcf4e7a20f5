/* See stop.h. */
#define _GNU_SOURCE
#include "stacks/stop.h"

#include <errno.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOKS = 20, /* whether it has stopped, one after the other: one that is on another processor stops within microseconds */
    POLL = 20,  /* microseconds between two later ones, and what the kernel adds to a sleep */
};

/* ---- a tracer that is stopped itself (Ctrl-Z) would not let go ---- */

static uint32_t attached; /* threads that stand still, or are asked to */
static sigset_t unblocked; /* the signals of the calling thread before */

static void block_stops(void)
{
    sigset_t stops;

    if (attached++ > 0)
        return;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaddset(&stops, SIGTTIN);
    sigaddset(&stops, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stops, &unblocked);
}

static void unblock_stops(void)
{
    if (attached > 0 && --attached == 0)
        pthread_sigmask(SIG_SETMASK, &unblocked, NULL);
}

/* ---- one thread ---- */

static bool is_of(const struct pyusdt_memory *memory, pid_t tid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/task/%d", (int)memory->pid, (int)tid);
    return access(path, F_OK) == 0 && pyusdt_memory_is_its(memory);
}

/* What there is to say of it now, without taking it from who else waits: false if nothing. */
static bool look(pid_t tid, siginfo_t *said)
{
    *said = (siginfo_t){0};
    return waitid(P_PID, (id_t)tid, said, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 && said->si_pid == tid;
}

static int wait_for_stop(pid_t tid, bool is_child, siginfo_t *said)
{
    struct timespec pause = {0, POLL * 1000};
    bool stopped = false;

    for (int i = 0; i < LOOKS && !stopped; i++)
        stopped = look(tid, said);
    for (int waited = 0; !stopped && !look(tid, said); waited += POLL) {
        if (waited >= PYUSDT_STOP_PATIENCE)
            return -EAGAIN;
        nanosleep(&pause, NULL);
    }
    if (said->si_code == CLD_TRAPPED || said->si_code == CLD_STOPPED)
        return 0;
    if (!is_child)
        waitpid(tid, NULL, WNOHANG | __WALL); /* else its own parent does not hear of it */
    return -ESRCH;
}

#ifdef __x86_64__
static int number_them(const struct user_regs_struct *r, uint64_t *out)
{
    const uint64_t numbered[] = {r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8,
                                 r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15, r->rip};
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

    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &part) != 0 || part.iov_len != sizeof registers)
        return -ESRCH; /* or a program of 32 bits */
    return number_them(&registers, out);
}

/* With the signal that it was about to get, where it is that for which it has stopped and not our asking. */
static void let_go(pid_t tid, const siginfo_t *said)
{
    bool is_signal = said->si_status >> 8 == 0;

    ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)(is_signal ? said->si_status & 0x7f : 0));
}

/* Asks it to stop, unless it is one that was asked before, and was late. */
static int attach(pid_t tid)
{
    siginfo_t said;
    int failed;

    block_stops();
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0) {
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        return 0;
    }
    failed = errno;
    if (failed == ESRCH)
        return -ESRCH;
    unblock_stops();
    return look(tid, &said) ? 0 : -EPERM;
}

int pyusdt_stop(const struct pyusdt_memory *memory, pid_t tid, bool is_child, uint64_t registers[PYUSDT_STOP_REGISTERS])
{
    siginfo_t said;
    int r;

    if (!is_of(memory, tid))
        return -ESRCH;
    r = attach(tid);
    if (r == 0)
        r = wait_for_stop(tid, is_child, &said);
    if (r == -ESRCH)
        unblock_stops();
    if (r)
        return r;
    r = is_of(memory, tid) ? read_registers(tid, registers) : -ESRCH; /* while it is stopped its id is nobody else's */
    if (r < 0) {
        let_go(tid, &said);
        unblock_stops();
    }
    return r;
}

void pyusdt_go_on(pid_t tid)
{
    siginfo_t said;

    if (look(tid, &said))
        let_go(tid, &said);
    unblock_stops();
}

#else /* other systems and processors have another way each; none is written yet */

int pyusdt_stop(const struct pyusdt_memory *memory, pid_t tid, bool is_child, uint64_t registers[PYUSDT_STOP_REGISTERS])
{
    (void)memory;
    (void)tid;
    (void)is_child;
    (void)registers;
    return -ENOSYS;
}

void pyusdt_go_on(pid_t tid)
{
    (void)tid;
}

#endif
