/* A thread of another process, stopped for a moment so that its registers can be read.
 *
 * In: a process's memory and the id of one of its threads.  Out: its registers, by their numbers in DWARF.
 * Always: this process is not stopped from a terminal (SIGTSTP) while it holds a thread; what was stopped goes on, at the latest when this process ends, however it ends; a signal that the thread was about to get it
 * gets.  A thread that does not stop within PYUSDT_STOP_PATIENCE is said to be late and stays attached: who asks for it again has it then.
 * A thread that waits in the kernel notices a stop where its system call does not start again by itself (epoll_wait gives EINTR): who
 * stops threads leaves those alone. */
#ifndef PYUSDT_STACKS_STOP_H
#define PYUSDT_STACKS_STOP_H

#include "stacks/memory.h"

enum {
    PYUSDT_STOP_REGISTERS = 33,    /* x86-64: 16 and the pc; aarch64: x0 to x30, sp, pc */
    PYUSDT_STOP_PATIENCE = 20000,  /* microseconds */
};

#pragma GCC visibility push(hidden)

/* is_child: the thread is the first one of a process that this one has started, whose end is not to be taken from who waits for it.
 * How many registers there are; -EAGAIN: late; -EPERM: another debugger has it, or it may not be; -ESRCH: it has ended, or is none of the
 * process's; -ENOSYS: not on this system. */
int pyusdt_stop(const struct pyusdt_memory *memory, pid_t tid, bool is_child, uint64_t registers[PYUSDT_STOP_REGISTERS]);

/* A thread that pyusdt_stop() has stopped goes on. */
void pyusdt_go_on(pid_t tid);

#pragma GCC visibility pop

#endif
