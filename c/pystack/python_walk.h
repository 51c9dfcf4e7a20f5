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
#include "pystack/walked_stack.h"

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

bool pyusdt_walk_has_gil(struct pyusdt_walker *walker, uint32_t i);

/* Its stack, behind the words so far, from *at on; nothing if it is not there any more. 0, -ENOMEM. */
int pyusdt_walk_thread(struct pyusdt_walker *walker, uint32_t i, uint32_t tries, size_t *at);

/* All words since pyusdt_walk_list(), until the next call that reads. */
const uint64_t *pyusdt_walker_words(const struct pyusdt_walker *walker, size_t *n);

#pragma GCC visibility pop

#endif
