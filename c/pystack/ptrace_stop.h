/*
 * Threads of another process, stopped for a moment so that their registers and memory can be read.
 *
 * - Another process holds them (ptrace_holder.h) and releases them after a time limit, so a tracer
 *   that is stopped, frozen or killed holds no thread. A thread gets every signal that it was about
 *   to get.
 * - If the system lets only this process, and no child of it, stop a thread
 *   (kernel.yama.ptrace_scope is 1, not root), this process holds the thread itself until it
 *   releases it, or ends. Meanwhile a terminal cannot stop this process (SIGTSTP).
 * - A thread that does not stop within PYUSDT_STOP_TIMEOUT is late: when it stops, it stands still
 *   until the next request for it, or until the time limit.
 * - A stop interrupts a system call that does not restart by itself (epoll_wait gives EINTR):
 *   callers leave threads in such a call alone.
 */
#ifndef PYUSDT_PYSTACK_PTRACE_STOP_H
#define PYUSDT_PYSTACK_PTRACE_STOP_H

#include "pystack/remote_memory.h"
#include "pystack/stopped_thread.h"

#pragma GCC visibility push(hidden)

/* is_child: this process has started that one, and waits for its end.
 * Of each thread, result: how many registers there are; -EAGAIN: it is late; -EPERM: another debugger has it, or it may not be; -ESRCH: it
 * has ended, or is none of the process's; -ENOBUFS: too many are late.  Returns 0; -errno: none of them stands still (-ENOSYS: not on
 * this system). */
int pyusdt_stop_threads(const struct pyusdt_memory *memory, bool is_child,
                        struct pyusdt_stopped *threads, size_t n);

/* Threads that pyusdt_stop_threads() has stopped, or that were late, go on.  result: whether it stood still all the time until now. */
void pyusdt_resume_threads(struct pyusdt_stopped *threads, size_t n);

/* The process that holds them; 0: there is none. */
pid_t pyusdt_stop_holder(void);

#pragma GCC visibility pop

#endif
