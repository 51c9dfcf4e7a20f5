/* What a walker of python_walk.h consists of: for its own three files only. */
#ifndef PYUSDT_PYSTACK_WALKER_STATE_H
#define PYUSDT_PYSTACK_WALKER_STATE_H

#include <string.h>

#include "pystack/cpython_offsets.h"
#include "pystack/remote_memory.h"
#include "pystack/walked_stack.h"

enum {
    PAGE = 4096,
    RECORD = 256, /* of a frame or a thread: as much as is read */
    WINDOWS =
        2048, /* pages that the frames of one stack may lie in; before 3.11 each is an object of some 480 bytes */
    HINTS = 4,  /* pages of a stack that are read before it is known where it is */
    INTERP = 3, /* words of an interpreter, at most */
    HEAD = 2,   /* words that lead to the innermost frame, at most */
    LOOKS = 4,  /* that have to agree with the first */
    PAUSES = 7, /* between them, all together */
    PARTS = LOOKS * (HEAD + WINDOWS) + HEAD + PAUSES,
    /* What one walk may cost, lest a process that shows long lists of long stacks keeps it busy: a frame is 1. */
    BUDGET = 1 << 20,
    PAGE_COST = 16,
    AHEAD =
        64, /* threads of the last walk's list, after the expected one, that are looked through */
};

/* A page in which frames lie, and what follows it for the frame that crosses its end. */
struct window {
    uint64_t start;
    size_t size;
    uint32_t low, high; /* between them are the frames of this stack */
    uint8_t first[PAGE + RECORD], again[LOOKS][PAGE + RECORD];
};

/* The words that lead from a thread to its innermost frame: its cframe, where there is one, and that frame. */
struct head {
    uint64_t word[HEAD];
};

struct seen {
    uint64_t code, instr;
    struct window *window;
    uint32_t at; /* in the window */
    bool shown;  /* a function's */
    bool entry;
};

/* A thread in the list of its interpreter. */
struct listed {
    uint64_t address, interp, gil; /* gil: the address of its interpreter's lock, or 0 */
    uint8_t record[RECORD];
    /* where its stack was at the last reading, to read all of it at once: the cframe, and pages */
    uint64_t cframe, pages[HINTS];
    uint32_t npages;
};

struct pyusdt_walker {
    struct pyusdt_memory memory;
    struct pyusdt_python_layout layout;
    uint64_t runtime;
    uint32_t max_frames, tries;
    bool entries, addresses;
    uint32_t record; /* bytes of a frame that are read */

    struct window *windows[WINDOWS]; /* allocated when first needed */
    uint32_t nwindows;
    struct seen *seen;
    uint32_t nseen, nshown;
    uint32_t spent; /* of BUDGET */
    struct pyusdt_memory_part parts[PARTS];

    struct listed *listed; /* the threads of all interpreters, in the order of their lists */
    struct listed *before; /* those of the last walk, read again by one read */
    uint32_t nlisted, nbefore;
    uint64_t last_interp; /* the first in the runtime's list, at the last walk */

    uint64_t *words;
    size_t nwords, room;
};

static inline uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
    uint64_t value;

    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static inline int read_word(const struct pyusdt_walker *w, uint64_t address, uint64_t *value)
{
    return pyusdt_memory_read(&w->memory, address, value, sizeof *value);
}

#pragma GCC visibility push(hidden)

/* ---- stack_reading.c ---- */

/* By one read, if the stack is where it was: what leads to its innermost frame, and its pages.  False: the thread is not what the list
 * had. *gil: whether it holds its interpreter's lock. */
bool pyusdt_stack_read_ahead(struct pyusdt_walker *w, const struct listed *listed,
                             struct head *head, bool *gil);

/* The frames into w->seen, until all reads agree, or the tries are over; the first is of what was read ahead. Where the stack is is kept
 * in `listed`. *skip: how many of w->seen are not to be shown. Flags of PYUSDT_STACK_. */
uint32_t pyusdt_stack_read(struct pyusdt_walker *w, struct listed *listed, uint32_t tries,
                           struct head *head, uint32_t *skip);

/* ---- thread_list.c ---- */

/* The threads of all interpreters into w->listed. 0, or -errno. */
int pyusdt_thread_list(struct pyusdt_walker *w);

#pragma GCC visibility pop

#endif
