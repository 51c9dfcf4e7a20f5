/*
 * Spare stacks for the slow paths of a firing (serving a session, looking for its tracer,
 * allocating pages), which need more stack than a signal handler on a small alternate stack or a
 * coroutine may have left.
 */
#ifndef PYUSDT_SPARE_STACK_H
#define PYUSDT_SPARE_STACK_H

#include "target/target.h"

#pragma GCC visibility push(hidden)

/* Reserves the stacks, once a process. 0 or -ENOMEM. */
int pyusdt_spare_stacks_prepare(void);

/* Calls fn(arg) on a spare stack; all signals but those of faults are blocked meanwhile. false:
 * all stacks are taken, and it was not called. */
bool pyusdt_spare_stack_call(void (*fn)(void *arg), void *arg);

/* The same with the lock of the slow paths; the thread that holds it always finds a stack. false:
 * the lock was not available. */
bool pyusdt_spare_stack_call_locked(bool firing, void (*fn)(void *arg), void *arg);

#pragma GCC visibility pop

#endif
