/* See stop_process.h. */
#define _GNU_SOURCE
#include "attach/stop_process.h"

#include <errno.h>

#ifdef __linux__

#include <elf.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach_hook.h"

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

enum {
    PAUSE = 10, /* microseconds between two checks whether a thread stands */
    EAGER = 50, /* checks without a pause: a thread that runs stops within microseconds */
};

int64_t pyusdt_attach_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

ssize_t pyusdt_proc_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 0;

    text[0] = '\0';
    if (fd < 0)
        return -errno;
    while (used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    got = got < 0 ? -errno : (ssize_t)used;
    close(fd);
    text[used] = '\0';
    return got;
}

/* ---- one thread ---- */

/* Its state, as /proc has it; 'X': it has ended. */
static char read_state(pid_t pid, pid_t tid)
{
    char path[64], text[512];
    const char *end;

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    if (pyusdt_proc_read(path, text, sizeof text) <= 0)
        return 'X';
    end = strrchr(text, ')'); /* its name may hold anything */
    return end != NULL && end[1] == ' ' ? end[2] : 'X';
}

/* Or it is just about to: then the system refuses to trace it. */
static bool has_ended(pid_t pid, pid_t tid)
{
    char state = read_state(pid, tid);

    return state == 'Z' || state == 'X' || state == 'x';
}

static bool has_tracer(pid_t pid, pid_t tid)
{
    char path[64], text[2048];
    const char *line;

    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    if (pyusdt_proc_read(path, text, sizeof text) <= 0)
        return false;
    line = strstr(text, "\nTracerPid:\t");
    return line != NULL && line[sizeof "\nTracerPid:\t" - 1] != '0';
}

/* 1: asked to stop; 0: it has ended. */
static int seize(pid_t pid, pid_t tid)
{
    for (int tries = 0; ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0; tries++) {
        int error = errno;

        if (error == ESRCH || has_ended(pid, tid))
            return 0;
        if (error != EPERM)
            return -error;
        if (has_tracer(pid, tid))
            return -EBUSY;
        if (tries > 0) /* else a tracer may have let it go just now */
            return -EPERM;
    }
    PYUSDT_ATTACH_HOOK(15);
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 && errno != ESRCH)
        return -errno;
    return 1;
}

/* 1: it stands; 0: not yet; -ESRCH: it has ended. */
static int look(struct pyusdt_stopped_tid *thread)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)thread->tid, &info, WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) !=
        0)
        return errno == EINTR ? 0 : -ESRCH;
    if (info.si_pid != thread->tid)
        return 0;
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
        return -ESRCH;
    thread->signal = info.si_status >> 8 == PTRACE_EVENT_STOP ? 0 : info.si_status & 0x7f;
    thread->stands = true;
    return 1;
}

/* ---- all threads ---- */

/* Remembers the id; false: it has been seen before. */
static bool is_new(struct pyusdt_stopped_process *process, pid_t tid)
{
    uint32_t at = (uint32_t)tid * 2654435761u % PYUSDT_ATTACH_SEEN;

    for (; process->seen[at] != 0; at = (at + 1) % PYUSDT_ATTACH_SEEN)
        if (process->seen[at] == tid)
            return false;
    process->seen[at] = tid;
    process->nseen++;
    return true;
}

static int take(struct pyusdt_stopped_process *process, pid_t tid)
{
    int r;

    if (process->n == PYUSDT_ATTACH_THREADS || process->nseen == PYUSDT_ATTACH_SEEN / 2)
        return -E2BIG;
    if (!is_new(process, tid))
        return 0;
    r = seize(process->pid, tid);
    if (r > 0)
        process->thread[process->n++] = (struct pyusdt_stopped_tid){.tid = tid};
    return r;
}

struct entry { /* of getdents64() */
    uint64_t inode;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* Those that are not known yet; how many. */
static int take_new(struct pyusdt_stopped_process *process, int tasks)
{
    char buffer[8192] __attribute__((aligned(8)));
    int found = 0;
    long got;

    if (lseek(tasks, 0, SEEK_SET) != 0)
        return -errno;
    while ((got = syscall(SYS_getdents64, tasks, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < got;) {
            const struct entry *entry = (const struct entry *)(buffer + at);
            pid_t tid = 0;
            int r;

            for (const char *digit = entry->name; *digit >= '0' && *digit <= '9'; digit++)
                tid = 10 * tid + (*digit - '0');
            at += entry->size;
            if (tid == 0)
                continue;
            r = take(process, tid);
            if (r < 0)
                return r;
            found += r;
        }
    return got < 0 ? -errno : found;
}

/* Waits until all that were asked stand.  Those that have ended are forgotten. */
static int await_stops(struct pyusdt_stopped_process *process, int64_t until)
{
    struct timespec pause = {0, 1000 * PAUSE};

    for (int checks = 0;; checks++) {
        pid_t waits = 0;

        for (uint32_t i = process->n; i-- > 0;) {
            int r = process->thread[i].stands ? 1 : look(&process->thread[i]);

            if (r < 0)
                process->thread[i] = process->thread[--process->n];
            else if (r == 0)
                waits = process->thread[i].tid;
        }
        if (!waits)
            return 0;
        if (pyusdt_attach_now() > until) {
            process->late = waits;
            process->late_state = read_state(process->pid, waits);
            return -EAGAIN;
        }
        if (checks >= EAGER)
            nanosleep(&pause, NULL);
    }
}

int pyusdt_process_stop(pid_t pid, int limit, struct pyusdt_stopped_process *process)
{
    int64_t until = pyusdt_attach_now() + (int64_t)limit * 1000000;
    char path[64];
    int tasks, found, r = 0;

    process->pid = pid;
    process->n = 0;
    process->late = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    do { /* one that still runs can start others */
        found = take_new(process, tasks);
        r = found < 0 ? found : await_stops(process, until);
        if (r == 0 && found > 0 && pyusdt_attach_now() > until)
            r = -EAGAIN;
    } while (r == 0 && found > 0);
    close(tasks);
    return r == 0 && process->n == 0 ? -ESRCH : r == -ENOENT ? -ESRCH : r;
}

#ifdef __x86_64__
/* The kernel's own errors for a call that is to begin again (ERESTARTSYS …), which no program sees. */
enum { RESTARTS_FIRST = 512, RESTARTS_LAST = 516 };

static bool interrupt_wait(pid_t tid)
{
    struct user_regs_struct registers;
    long long result;

    if (ptrace(PTRACE_GETREGS, tid, NULL, &registers) != 0 || registers.orig_rax != SYS_futex)
        return false;
    result = (long long)registers.rax;
    if (-result < RESTARTS_FIRST || -result > RESTARTS_LAST)
        return false;
    registers.rax = (unsigned long long)-EINTR;
    return ptrace(PTRACE_SETREGS, tid, NULL, &registers) == 0;
}
#elif defined(__aarch64__)
enum {
    NUMBER = 8, /* the register of a system call's number; x0 and x1 have the first arguments */
    SUPERVISOR_CALL = (int)0xd4000001,
};

/* The kernel has set the thread back to its call, which is to begin again. Behind the call, its result is EINTR. A
 * thread that has not begun with the call looks the same: a wait can end so, nothing else that a futex is asked for. */
static bool interrupt_wait(pid_t tid)
{
    struct user_regs_struct registers;
    struct iovec part = {&registers, sizeof registers};
    unsigned long long what;

    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &part) != 0 ||
        part.iov_len != sizeof registers || registers.regs[NUMBER] != SYS_futex)
        return false;
    what = registers.regs[1] & FUTEX_CMD_MASK;
    if ((what != FUTEX_WAIT && what != FUTEX_WAIT_BITSET) ||
        (int)ptrace(PTRACE_PEEKTEXT, tid, (void *)registers.pc, NULL) != SUPERVISOR_CALL)
        return false;
    registers.regs[0] = (unsigned long long)-EINTR;
    registers.pc += sizeof SUPERVISOR_CALL;
    return ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &part) == 0;
}
#else
static bool interrupt_wait(pid_t tid)
{
    (void)tid;
    return false;
}
#endif

bool pyusdt_process_interrupt_wait(const struct pyusdt_stopped_process *process)
{
    for (uint32_t i = 0; i < process->n; i++)
        if (process->thread[i].tid == process->pid)
            return process->thread[i].stands && process->thread[i].signal == 0 &&
                   interrupt_wait(process->pid);
    return false;
}

void pyusdt_process_resume(struct pyusdt_stopped_process *process)
{
    for (uint32_t i = 0; i < process->n; i++)
        if (process->thread[i].stands)
            ptrace(PTRACE_DETACH, process->thread[i].tid, NULL,
                   (void *)(uintptr_t)process->thread[i].signal);
    process->n = 0;
}

#endif
