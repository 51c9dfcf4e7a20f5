/*
 * Looks at the stacks of the threads of a process: which threads count, stops, and samples of code
 * that is known.
 *
 * - A thread counts if it runs just before its stack is read, by the kernel's word (or by the other
 *   rules of `which`). Threads that do not count are not read.
 * - A first reading finds the threads that are on a processor; these are stopped for the second one,
 *   of which the sample is. No sample is of the first: what holds still in it lasts longer than what
 *   does not, and would have too large a share.
 * - Stacks of which all code objects are known and have their identity still are counted here. All
 *   others are handed to the caller, which learns their names and confirms the code.
 */
#ifndef PYUSDT_PYSTACK_STACK_LOOKS_H
#define PYUSDT_PYSTACK_STACK_LOOKS_H

#include "pystack/code_identities.h"
#include "pystack/python_walk.h"
#include "pystack/stack_counts.h"
#include "pystack/thread_states.h"

enum { PYUSDT_LOOK_RUNNING, PYUSDT_LOOK_GIL, PYUSDT_LOOK_ALL };

/* What a look gives: */
enum {
    PYUSDT_LOOK_DONE = 0,
    PYUSDT_LOOK_THREADS = 1, /* threads are not known, or have ended: nothing was read yet */
    PYUSDT_LOOK_STACKS = 2,  /* stacks are for the caller, or it has to take what was counted */
};

struct pyusdt_look_options {
    int which;
    bool threads;  /* the thread of the kernel of each has to be known */
    bool stop;     /* those on a processor are stopped while their stack is read */
    bool is_child; /* this process has started that one */
    bool lines;    /* positions tell stacks apart */
    bool counts;   /* else all stacks are handed to the caller */
    uint32_t tries;
};

/* Which thread of the kernel a thread of Python is. */
struct pyusdt_look_thread {
    uint64_t thread, id, native; /* as struct pyusdt_walked has them; sorted by these */
    pid_t tid;
};

struct pyusdt_looker;

#pragma GCC visibility push(hidden)

/* The walker and the states belong to the caller. NULL: no memory, or offsets that cannot be. */
struct pyusdt_looker *pyusdt_looker_new(const struct pyusdt_memory *memory,
                                        const struct pyusdt_python_layout *layout,
                                        struct pyusdt_walker *walker,
                                        struct pyusdt_thread_states *states,
                                        const struct pyusdt_look_options *options);
/* Threads that were late go on. */
void pyusdt_looker_free(struct pyusdt_looker *looker);

/* The threads that are known from now on; what was counted has to be taken before. 0, -ENOMEM. */
int pyusdt_looker_set_threads(struct pyusdt_looker *looker,
                              const struct pyusdt_look_thread *threads, size_t n);

/* One look; PYUSDT_LOOK_, or -errno: -ESRCH where the process has ended. go_on: threads that are not known stay so.
 * words: as those of pyusdt_walk(), of the threads that are not known, without frames, or of the stacks for the caller. */
int pyusdt_look(struct pyusdt_looker *looker, bool go_on, const uint64_t **words, size_t *n);

/* What the known threads did at the beginning of the last look, in their order. */
const char *pyusdt_looker_letters(const struct pyusdt_looker *looker, size_t *n);

/* The threads that were stopped at the last look, all the time. */
size_t pyusdt_looker_stopped(const struct pyusdt_looker *looker, pid_t *tids, size_t most);

struct pyusdt_identities *pyusdt_looker_identities(struct pyusdt_looker *looker);
struct pyusdt_stack_counts *pyusdt_looker_counts(struct pyusdt_looker *looker);

#pragma GCC visibility pop

#endif
