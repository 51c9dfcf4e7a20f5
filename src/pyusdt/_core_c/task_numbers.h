/* The numbers of asyncio tasks and greenlets, by which those of one name are told apart.
 *
 * In:      a task or a greenlet, as it fires.
 * Out:     its number in decimal digits, from its first firing that somebody reads to its end.
 * Always:  no number is given twice, be it in a process or to a later process that gets its id: each is at least the time.
 *          Nothing is kept of a task that has ended, and the task itself is not changed. */
#ifndef PYUSDT_CORE_TASK_NUMBERS_H
#define PYUSDT_CORE_TASK_NUMBERS_H

#include "_core_c/event_context.h"

#define PYUSDT_FIRST_TASK_CHECKS 64
#define PYUSDT_TASK_CHECK_EACH \
    1024 /* of the firings behind them: a look costs as much as three firings */
#define PYUSDT_TASKS_REPORTED UINT32_MAX

/* New reference to bytes, or NULL with an exception. */
PyObject *pyusdt_task_number(struct pyusdt_context *context, PyObject *task);

/* Fills in the number and the name of a greenlet.  The first greenlet of a thread is the thread itself: nothing is filled in.
 * An exception may be pending. */
void pyusdt_greenlet_number(struct pyusdt_context *context, PyObject *greenlet,
                            struct pyusdt_task *task);

/* Once two asyncio tasks or greenlets of one thread have fired, tells so those tracers whose scripts have self-> variables, which are
 * the thread's.  Called at each firing: looks at the first ones and at a few of the others, until it is told. */
void pyusdt_detect_tasks(void);

/* The same for greenlets alone, where coroutines tell of their turns themselves.  Called at the first event of each function. */
void pyusdt_detect_greenlets(void);

static inline void pyusdt_detect_tasks_sometimes(void)
{
    extern uint32_t pyusdt_task_checks __attribute__((visibility("hidden")));
    uint32_t n = __atomic_load_n(&pyusdt_task_checks, __ATOMIC_RELAXED);

    if (n == PYUSDT_TASKS_REPORTED)
        return;
    __atomic_store_n(&pyusdt_task_checks, (n + 1) % PYUSDT_TASKS_REPORTED, __ATOMIC_RELAXED);
    if (n < PYUSDT_FIRST_TASK_CHECKS || n % PYUSDT_TASK_CHECK_EACH == 0)
        pyusdt_detect_tasks();
}

#endif
