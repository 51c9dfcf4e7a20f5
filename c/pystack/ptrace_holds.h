/*
 * Threads of other processes that the calling process holds by ptrace: stops them, reads their
 * registers, releases them.
 *
 * - Held: attached, from the request on until the thread is released or has ended. A held thread
 *   either stands still or has yet to stop.
 * - A thread gets every signal that it was about to get; its own parent waits for its end.
 * - The caller's list is the only state: its owner is the only ptracer of the threads in it.
 */
#ifndef PYUSDT_PYSTACK_PTRACE_HOLDS_H
#define PYUSDT_PYSTACK_PTRACE_HOLDS_H

#include <stdbool.h>
#include <stddef.h>

#include "pystack/stopped_thread.h"

enum {
    PYUSDT_HOLDS_MOST = 2 * PYUSDT_STOP_MAX
}; /* those of one request, and those that were late before */

struct pyusdt_hold {
    pid_t tid;
    bool stands;   /* it stands still */
    bool unwanted; /* it is released as soon as it stops */
    int64_t
        until; /* when it is to be released, in nanoseconds of CLOCK_MONOTONIC; of one that stands */
};

struct pyusdt_holds {
    uint32_t n;
    pid_t child; /* a child of the calling process, whose end is left to its waiter; 0: none */
    struct pyusdt_hold hold[PYUSDT_HOLDS_MOST];
};

#pragma GCC visibility push(hidden)

int64_t pyusdt_holds_now(void);

/* As pyusdt_stop_threads().  `limit`: nanoseconds for which each is held, from its stop on. */
void pyusdt_holds_stop(struct pyusdt_holds *holds, struct pyusdt_stopped *threads, size_t n,
                       int64_t limit);

/* As pyusdt_resume_threads().  One that has yet to stop is unwanted from now on. */
void pyusdt_holds_resume(struct pyusdt_holds *holds, struct pyusdt_stopped *threads, size_t n);

/* Checks those that have yet to stop, and releases those that have ended, are unwanted, or whose time is over.  False: the kernel knows
 * one of them by another id (it has become another program), so that only the end of this process lets it go. */
bool pyusdt_holds_check(struct pyusdt_holds *holds, int64_t limit);

/* Releases all that stand still. */
void pyusdt_holds_end(struct pyusdt_holds *holds);

#pragma GCC visibility pop

#endif
