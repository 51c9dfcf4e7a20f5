/*
 * The numbers by which asyncio tasks and greenlets of the same name differ.
 *
 * - A task has its number, in decimal digits, from its first firing that a tracer reads until its
 *   end.
 * - No number is used twice, neither in a process nor in a later process with the same id: each is
 *   at least the time.
 * - Nothing is stored for a task that has ended, and the task itself is not changed.
 */
#ifndef PYUSDT_CORE_TASK_NUMBERS_H
#define PYUSDT_CORE_TASK_NUMBERS_H

#include "_core_c/event_context.h"

#define PYUSDT_FIRST_TASK_CHECKS 64
#define PYUSDT_TASK_CHECK_EACH \
    1024 /* of the later firings: a check costs as much as three firings */
#define PYUSDT_TASKS_REPORTED UINT32_MAX

/* New reference to bytes, or NULL with an exception. */
PyObject *pyusdt_task_number(struct pyusdt_context *context, PyObject *task);

/* Fills in the number and the name of a greenlet. The first greenlet of a thread is the thread
 * itself: nothing is filled in. An exception may be pending. */
void pyusdt_greenlet_number(struct pyusdt_context *context, PyObject *greenlet,
                            struct pyusdt_task *task);

/* Reports, once two asyncio tasks or greenlets of one thread have fired, to tracers whose scripts
 * have self-> variables, since these belong to the thread. Called at each firing. Checks the first
 * firings and a few of the others, until it has reported. */
void pyusdt_detect_tasks(void);

/* The same for greenlets only, if coroutines report their turns themselves. Called at the first
 * event of each function. */
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
