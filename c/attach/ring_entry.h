/*
 * One entry of ours in the pending calls of a CPython whose threads all stand still.
 *
 * - The entry is a call of PyRun_SimpleString(text). The text lies in a slot: bytes at the end of a page with data of a
 *   file, which belong to nothing.
 * - Nothing is written before all of the interpreter's state that this depends on has been verified (enum pyusdt_misfit).
 * - The order of the stores: text, entry, the ring's end, the flags. If the tracer dies between two of them, the entry
 *   is not there, or is there and runs a bit later.
 * - From 3.13 on the end of the ring and the number of calls are two words. If the tracer dies between these two stores,
 *   the next store of an entry, whoever makes it, is called one call later; the next pyusdt_ring_put() or pyusdt_ring_mend() repairs that.
 * - What the process's memory says is untrusted: every number is checked against its range, and every loop has a limit.
 */
#ifndef PYUSDT_ATTACH_RING_ENTRY_H
#define PYUSDT_ATTACH_RING_ENTRY_H

#include "pystack/cpython_offsets.h"
#include "pystack/remote_memory.h"

enum {
    PYUSDT_SLOT_SIZE = 1024,  /* of a slot: the text with its NUL, then the report */
    PYUSDT_SLOT_REPORT = 768, /* where the report begins, which the text's code writes */
    PYUSDT_SLOT_MARK = 16,    /* bytes that every text begins with */
    PYUSDT_SLOTS = 16,        /* at most */
};

/* A report's first byte; 0: the text has not begun. */
enum { PYUSDT_STATE_BEGUN = '1', PYUSDT_STATE_DONE = '2', PYUSDT_STATE_FAILED = '3' };

/* How far pyusdt_ring_put() has got, for a caller that finds it killed. */
enum pyusdt_put_step {
    PYUSDT_STEP_NONE,     /* perhaps a text */
    PYUSDT_STEP_TEXT,     /* the text is in its slot, and no entry */
    PYUSDT_STEP_ENTERING, /* perhaps an entry */
    PYUSDT_STEP_ENTERED,
};

struct pyusdt_ring_target {
    struct pyusdt_memory memory;
    struct pyusdt_python_layout layout;
    uint64_t runtime;            /* _PyRuntime */
    uint64_t function;           /* PyRun_SimpleString */
    uint64_t slot[PYUSDT_SLOTS]; /* all that there are, free or not */
    uint32_t slots;
    uint32_t choice; /* the one to take */
    uint32_t size;   /* of the text, without its NUL */
    bool
        takes_abandoned; /* also a slot with a text that its tracer has left: it has run, or it has not begun and no entry is for it */
    char text[PYUSDT_SLOT_REPORT];
    uint64_t used; /* the slot that has the text */
    enum pyusdt_put_step step;
};

/* What the interpreter's state contradicts; the name of what does not fit. */
#define PYUSDT_MISFITS(MISFIT) \
    MISFIT(NONE, "") \
    MISFIT(MEMORY, "an address of the interpreter's state cannot be read") \
    MISFIT(MAIN, "the main interpreter is not in the list of interpreters") \
    MISFIT(ID, "the main interpreter has not the number 0") \
    MISFIT(THREADS, "a thread state is not of the main interpreter") \
    MISFIT(MAIN_THREAD, "the main thread is not in the list of threads") \
    MISFIT(RING, "the positions in the ring of pending calls are out of range") \
    MISFIT(COUNT, "the number of pending calls does not fit their positions") \
    MISFIT(LOCK, "the lock of the pending calls has no value of a lock") \
    MISFIT(BREAKER, "the eval breaker has no value of one") \
    MISFIT(TABLE, "the table has no offsets of pending calls for this version")

#define MISFIT(name, text) PYUSDT_MISFIT_##name,
enum pyusdt_misfit { PYUSDT_MISFITS(MISFIT) PYUSDT_MISFIT_COUNT_OF };
#undef MISFIT

/* What came of it. */
enum pyusdt_ring_result {
    PYUSDT_RING_DONE,
    PYUSDT_RING_LOCKED,     /* a thread has the ring's lock: again, soon */
    PYUSDT_RING_FULL,       /* again, soon */
    PYUSDT_RING_NO_SLOT,    /* the slot is not free */
    PYUSDT_RING_STARTING,   /* the interpreter is not ready yet: again, soon */
    PYUSDT_RING_FINALIZING, /* the interpreter ends */
    PYUSDT_RING_MISFIT,
    PYUSDT_RING_GONE,   /* there is no entry of ours */
    PYUSDT_RING_FAILED, /* a write failed */
};

#pragma GCC visibility push(hidden)

extern const char *const pyusdt_misfit_texts[PYUSDT_MISFIT_COUNT_OF];

/* Puts the text into the slot, and an entry for it into the ring. */
enum pyusdt_ring_result pyusdt_ring_put(struct pyusdt_ring_target *target,
                                        enum pyusdt_misfit *misfit);

/* Sets the flags again, if the entry still waits: a store of a thread that was stopped in the middle of it can undo them. */
enum pyusdt_ring_result pyusdt_ring_mend(struct pyusdt_ring_target *target,
                                         enum pyusdt_misfit *misfit);

/* Takes the entry back, if it still waits. */
enum pyusdt_ring_result pyusdt_ring_withdraw(struct pyusdt_ring_target *target,
                                             enum pyusdt_misfit *misfit);

/* Whether the entry waits; reads only, and the threads may run.  < 0: -errno. */
int pyusdt_ring_waits(const struct pyusdt_ring_target *target);

#pragma GCC visibility pop

#endif
