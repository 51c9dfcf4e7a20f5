/*
 * Stops all threads of another process, by the calling process, for a fraction of a millisecond.
 *
 * - The caller has one thread, and ends soon: the kernel lets the threads go when it ends, in whatever way. So each of
 *   these functions may give up at any point.
 * - A thread gets every signal that it was about to get. That is so if the caller is killed, too: no stop is taken from
 *   the kernel (WNOWAIT), which else would forget the signal.
 * - No code of the process runs, and no register changes, except by pyusdt_process_interrupt_wait().
 * - The caller gives a struct that is filled with zeros, once.
 * - Nothing here allocates memory or takes a lock: the caller is a forked child of a program with threads.
 */
#ifndef PYUSDT_ATTACH_STOP_PROCESS_H
#define PYUSDT_ATTACH_STOP_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    PYUSDT_ATTACH_THREADS = 1 << 14, /* of a process, at most */
    PYUSDT_ATTACH_SEEN = 1 << 16,    /* ids that can be remembered, some more than that */
};

struct pyusdt_stopped_process {
    pid_t pid;
    pid_t late;      /* a thread that did not stop in time; 0: none */
    char late_state; /* its state, as /proc has it */
    uint32_t n, nseen;
    pid_t seen[PYUSDT_ATTACH_SEEN]; /* a hash table; 0: free */
    struct pyusdt_stopped_tid {
        pid_t tid;
        bool stands;
        int signal; /* that it was about to get; 0: none */
    } thread[PYUSDT_ATTACH_THREADS];
};

#pragma GCC visibility push(hidden)

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t pyusdt_attach_now(void);

/* 0: all threads stand still.  limit: milliseconds in which they have to.  -EAGAIN: one of them does not, or the process is becoming another program; -EBUSY: another
 * tracer has it; -EPERM; -ESRCH: it has ended; -E2BIG: too many threads.  After an error the caller has to end. */
int pyusdt_process_stop(pid_t pid, int limit, struct pyusdt_stopped_process *process);

/* The process's first thread, if it waits for a lock (futex), sees its wait interrupted, as by a signal with a handler: Python then makes
 * pending calls, and waits again. Whether it was so. */
bool pyusdt_process_interrupt_wait(const struct pyusdt_stopped_process *process);

/* They go on.  One that was not seen to stand may stand by now, about to get a signal: it goes on with that when the caller ends. */
void pyusdt_process_resume(struct pyusdt_stopped_process *process);

/* The content of a file of /proc with a NUL behind, at most size - 1 bytes; < 0: -errno. */
ssize_t pyusdt_proc_read(const char *path, char *text, size_t size);

#pragma GCC visibility pop

#endif
