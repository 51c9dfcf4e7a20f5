/* Threads of another process, stopped for a moment so that their registers and memory can be read.
 *
 * In: a process's memory and the ids of some of its threads.  Out: their registers, by their numbers in DWARF.
 * Always: another process holds them (ptrace_holder.h), which lets them go after a time limit, so that a tracer that is stopped, frozen or killed
 * holds nobody; a signal that a thread was about to get it gets.  Only where the system lets this process, and no child of it, stop
 * a thread (kernel.yama.ptrace_scope is 1, not root) this process holds the thread itself: until it lets go, or ends.
 * While it holds threads it is not stopped from a terminal (SIGTSTP).
 * A thread that does not stop within PYUSDT_STOP_TIMEOUT is late.  It stands still when it comes to that, until it is asked for again or
 * the time limit is over.
 * A thread that waits in the kernel notices a stop where its system call does not start again by itself (epoll_wait gives EINTR): who
 * stops threads leaves those alone. */
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
