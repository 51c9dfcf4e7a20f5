/*
 * The stacks of a CPython process, walked from outside while it runs: code objects and positions,
 * innermost first.
 *
 * - The process is untrusted: every list is bounded, every loop ends, and an address that is not
 *   there ends the stack.
 * - The process is not stopped, so a stack may change while it is read. Each is read five times,
 *   and anew while these differ. If they still differ at the last try, a flag says so, and only the
 *   frames that did not change are given.
 * - A stack that changes and changes back between two reads, some microseconds, each time, is not
 *   noticed: tests/stacks/moving_main.c has a model, docs/internals/stacks.md says how often it was
 *   seen.
 */
#ifndef PYUSDT_PYSTACK_PYTHON_WALK_H
#define PYUSDT_PYSTACK_PYTHON_WALK_H

#include "pystack/cpython_offsets.h"
#include "pystack/remote_memory.h"

enum {
    PYUSDT_WALK_INTERPRETERS = 64,
    PYUSDT_WALK_THREADS = 4096, /* of all interpreters together */
    PYUSDT_WALK_FRAMES = 16384, /* of a thread, at the most */
};

/* Of a thread's stack. */
enum {
    PYUSDT_STACK_GIL = 1, /* the thread holds the lock of the interpreter */
    PYUSDT_STACK_MOVED =
        2, /* functions are right; a caller's position, or the innermost function, may be a moment old */
    PYUSDT_STACK_TORN = 4, /* inner frames changed too fast: they are left out */
    PYUSDT_STACK_CUT = 8,  /* there are more, outer frames than were asked for */
    PYUSDT_STACK_LOST =
        16, /* it led to an address that is not there, or in a circle: nothing of it is given */
    PYUSDT_STACK_RAN =
        32, /* the innermost function went on while the stack was read: the thread has a processor, and is in no C function */
};

/* A thread in the words that pyusdt_walk() gives; behind it two words a frame: code object (with PYUSDT_FRAME_FIRST in it), position. */
struct pyusdt_walked {
    uint64_t thread; /* the address of its PyThreadState */
    uint64_t interpreter;
    uint64_t id;     /* pthread_self() */
    uint64_t native; /* gettid() as the process knows it; 0: before 3.11 */
    uint64_t flags, frames;
};

/* In a code object's address: the frame is the outermost of those that one call of the interpreter's C function runs.  Where `entries` were
 * asked for, behind each of these comes a pair without a code object: this bit alone, and the address of what that call keeps on its
 * own stack (from 3.12 on, else 0).  Where `addresses` were asked for, a pair of PYUSDT_FRAME_ADDRESS and the frame's own address is
 * directly behind each frame. */
enum { PYUSDT_FRAME_FIRST = 1, PYUSDT_FRAME_ADDRESS = 4 };

struct pyusdt_walker;

#pragma GCC visibility push(hidden)

/* frames: of a thread, at the most; tries: how often a stack is read until it holds still; entries: PYUSDT_FRAME_FIRST;
 * addresses: PYUSDT_FRAME_ADDRESS.  NULL: no memory. */
struct pyusdt_walker *pyusdt_walker_new(const struct pyusdt_memory *memory,
                                        const struct pyusdt_python_layout *layout, uint64_t runtime,
                                        uint32_t frames, uint32_t tries, bool entries,
                                        bool addresses);
void pyusdt_walker_free(struct pyusdt_walker *walker);

/* All threads but those of skip (addresses of PyThreadStates, sorted), once.  The words are the walker's, until its next walk.  0, or
 * -errno: -ESRCH where the process has ended. */
int pyusdt_walk(struct pyusdt_walker *walker, const uint64_t *skip, size_t nskip,
                const uint64_t **words, size_t *n);

/* How many threads the last walk met, skipped ones among them. */
uint32_t pyusdt_walker_threads(const struct pyusdt_walker *walker);

/* ---- the steps of a walk, for a caller that chooses the threads ---- */

/* Lists the threads anew; the words of the last walk are over. 0, or -errno. */
int pyusdt_walk_list(struct pyusdt_walker *walker);

/* The i-th of the list, without frames and flags. */
void pyusdt_walk_head(const struct pyusdt_walker *walker, uint32_t i, struct pyusdt_walked *head);

/* What one reading of its stack says, without the stack; 0: it is not there any more. */
uint32_t pyusdt_walk_flags(struct pyusdt_walker *walker, uint32_t i);

bool pyusdt_walk_has_gil(const struct pyusdt_walker *walker, uint32_t i);

/* Its stack, behind the words so far, from *at on; nothing if it is not there any more. 0, -ENOMEM. */
int pyusdt_walk_thread(struct pyusdt_walker *walker, uint32_t i, uint32_t tries, size_t *at);

/* All words since pyusdt_walk_list(), until the next call that reads. */
const uint64_t *pyusdt_walker_words(const struct pyusdt_walker *walker, size_t *n);

#pragma GCC visibility pop

#endif
