/*
 * A small child process that is the ptracer, so that a stopped, frozen or starved tracer holds no
 * thread.
 *
 * - A thread is released PYUSDT_HOLDER_LIMIT after its stop at the latest, whatever the tracer
 *   does.
 * - If the holder itself cannot do that (SIGSTOP), a timer of the kernel kills it after twice that
 *   time, and the kernel releases the threads.
 * - The holder runs nothing of the tracer's (no Python, no signal handler), is in a session of its
 *   own, and ends with the tracer.
 * - Root's holder leaves the tracer's control groups and has a real-time priority, so neither a
 *   freezer nor a busy machine stops it.
 */
#ifndef PYUSDT_PYSTACK_PTRACE_HOLDER_H
#define PYUSDT_PYSTACK_PTRACE_HOLDER_H

#include "pystack/ptrace_holds.h"

/* Milliseconds.  One read of a stack holds a thread for less than one; 256 threads with stacks of a megabyte each, for about 100.  Programs take
 * pauses of this length for noise of the system: a garbage collection, a slow disk. */
enum { PYUSDT_HOLDER_LIMIT = 200 };

struct pyusdt_holder;

#pragma GCC visibility push(hidden)

/* 0 or -errno. */
int pyusdt_holder_start(struct pyusdt_holder **holder);

/* It ends, and releases what it holds.  In a forked child, which is not its tracer: only what this process has of it is given back. */
void pyusdt_holder_end(struct pyusdt_holder *holder);

pid_t pyusdt_holder_pid(const struct pyusdt_holder *holder);

/* Whether the calling process has started it. */
bool pyusdt_holder_is_own(const struct pyusdt_holder *holder);

/* As pyusdt_stop_threads() and pyusdt_resume_threads(); at most PYUSDT_STOP_MAX threads.  -EPIPE, -ETIMEDOUT: it is gone, or does not answer: end it. */
int pyusdt_holder_stop(struct pyusdt_holder *holder, struct pyusdt_stopped *threads, size_t n);
int pyusdt_holder_go_on(struct pyusdt_holder *holder, struct pyusdt_stopped *threads, size_t n);

/* Whatever keeps the tracer from running does not keep the calling process, as far as its rights go: it leaves the tracer's control groups
 * and is scheduled before others. */
void pyusdt_holder_stand_apart(void);

#pragma GCC visibility pop

#endif
