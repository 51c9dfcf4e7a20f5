/* See ring_entry.h. */
#include "attach/ring_entry.h"

#include <string.h>

#include "attach/attach_hook.h"

#define TEXT(name, text) text,
const char *const pyusdt_misfit_texts[PYUSDT_MISFIT_COUNT_OF] = {PYUSDT_MISFITS(TEXT)};
#undef TEXT

enum {
    MOST_INTERPRETERS = 10000,
    MOST_THREADS = 100000,
    PERHAPS_LOCKED = 3,   /* bits of a PyMutex: it is locked, threads wait for it */
    CALLS_TO_DO = 1 << 2, /* of a thread's eval breaker */
    LOW_BITS = 0xff,
    SPARE = 2, /* entries that we leave to the program */
};

/* The ring as it was read. */
struct ring {
    uint64_t interp, at;
    int32_t first, last, todo, max;
    uint32_t n, entry; /* entries, size of one */
};

static bool counts(const struct pyusdt_ring_target *target) /* from 3.13 on */
{
    return target->layout.ring_max != 0;
}

static bool read_word(const struct pyusdt_ring_target *target, uint64_t at, uint64_t *word)
{
    return pyusdt_memory_read(&target->memory, at, word, sizeof *word) == 0;
}

static bool read_int(const struct pyusdt_ring_target *target, uint64_t at, int32_t *number)
{
    return pyusdt_memory_read(&target->memory, at, number, sizeof *number) == 0;
}

static bool write_int(const struct pyusdt_ring_target *target, uint64_t at, int32_t number)
{
    return pyusdt_memory_write(&target->memory, at, &number, sizeof number) == 0;
}

/* ---- what has to fit ---- */

static enum pyusdt_misfit verify_interpreter(const struct pyusdt_ring_target *target,
                                             struct ring *ring)
{
    const struct pyusdt_python_layout *layout = &target->layout;
    uint64_t each, id;

    if (!read_word(target, target->runtime + layout->runtime_main, &ring->interp) ||
        !read_word(target, target->runtime + layout->runtime_interpreters, &each))
        return PYUSDT_MISFIT_MEMORY;
    for (int n = 0; each != ring->interp; n++)
        if (each == 0 || n == MOST_INTERPRETERS ||
            !read_word(target, each + layout->interp_next, &each))
            return PYUSDT_MISFIT_MAIN;
    if (each == 0 || each % 8 != 0)
        return PYUSDT_MISFIT_MAIN;
    if (!read_word(target, each + layout->interp_id, &id) || id != 0)
        return PYUSDT_MISFIT_ID;
    ring->at = ring->interp + layout->interp_ring;
    ring->n = layout->ring_entries;
    ring->entry = layout->ring_entry;
    return PYUSDT_MISFIT_NONE;
}

/* Up to 3.11 the main thread only makes pending calls. */
static enum pyusdt_misfit verify_threads(const struct pyusdt_ring_target *target,
                                         const struct ring *ring)
{
    const struct pyusdt_python_layout *layout = &target->layout;
    uint64_t thread, interp, id, main_thread, breaker;
    bool has_main = false;
    int n = 0;

    if (!read_word(target, target->runtime + layout->runtime_main_thread, &main_thread) ||
        !read_word(target, ring->interp + layout->interp_threads, &thread))
        return PYUSDT_MISFIT_MEMORY;
    for (; thread != 0; n++) {
        if (n == MOST_THREADS || thread % 8 != 0 ||
            !read_word(target, thread + layout->thread_interp, &interp) || interp != ring->interp ||
            !read_word(target, thread + layout->thread_id, &id))
            return PYUSDT_MISFIT_THREADS;
        if (layout->thread_breaker && !read_word(target, thread + layout->thread_breaker, &breaker))
            return PYUSDT_MISFIT_BREAKER;
        has_main |= id == main_thread;
        if (!read_word(target, thread + layout->thread_next, &thread))
            return PYUSDT_MISFIT_THREADS;
    }
    if (n == 0)
        return PYUSDT_MISFIT_THREADS;
    return has_main || counts(target) ? PYUSDT_MISFIT_NONE : PYUSDT_MISFIT_MAIN_THREAD;
}

static enum pyusdt_misfit verify_breaker(const struct pyusdt_ring_target *target,
                                         const struct ring *ring)
{
    int32_t breaker;

    if (target->layout.thread_breaker)
        return PYUSDT_MISFIT_NONE;
    if (!read_int(target, ring->interp + target->layout.interp_breaker, &breaker))
        return PYUSDT_MISFIT_MEMORY;
    return breaker == 0 || breaker == 1 ? PYUSDT_MISFIT_NONE : PYUSDT_MISFIT_BREAKER;
}

static int32_t between(const struct ring *ring)
{
    return (ring->last - ring->first + (int32_t)ring->n) % (int32_t)ring->n;
}

static enum pyusdt_misfit read_ring(const struct pyusdt_ring_target *target, struct ring *ring)
{
    const struct pyusdt_python_layout *layout = &target->layout;

    ring->max = (int32_t)ring->n - 1;
    if (!read_int(target, ring->at + layout->ring_first, &ring->first) ||
        !read_int(target, ring->at + layout->ring_last, &ring->last) ||
        !read_int(target, ring->at + layout->ring_todo, &ring->todo) ||
        (counts(target) && !read_int(target, ring->at + layout->ring_max, &ring->max)))
        return PYUSDT_MISFIT_MEMORY;
    if (ring->first < 0 || ring->first >= (int32_t)ring->n || ring->last < 0 ||
        ring->last >= (int32_t)ring->n || ring->max < 1 || ring->max > (int32_t)ring->n)
        return PYUSDT_MISFIT_RING;
    return PYUSDT_MISFIT_NONE;
}

static enum pyusdt_misfit verify_count(const struct pyusdt_ring_target *target,
                                       const struct ring *ring)
{
    if (!counts(target))
        return ring->todo == 0 || ring->todo == 1 ? PYUSDT_MISFIT_NONE : PYUSDT_MISFIT_COUNT;
    if (ring->todo < 0 || ring->todo > ring->max || ring->todo % (int32_t)ring->n != between(ring))
        return PYUSDT_MISFIT_COUNT;
    return PYUSDT_MISFIT_NONE;
}

/* Up to 3.12 it is a semaphore of libc's, whose value is its first int. musl's has its waiters there, too: -1, or the highest bit. */
static enum pyusdt_misfit read_lock(const struct pyusdt_ring_target *target,
                                    const struct ring *ring, bool *held)
{
    uint64_t at = ring->at + target->layout.ring_lock;
    uint8_t byte = 0;
    int32_t value = 0;

    if (counts(target)) {
        if (pyusdt_memory_read(&target->memory, at, &byte, 1) != 0)
            return PYUSDT_MISFIT_MEMORY;
        *held = byte != 0;
        return byte <= PERHAPS_LOCKED ? PYUSDT_MISFIT_NONE : PYUSDT_MISFIT_LOCK;
    }
    if (!read_word(target, at, &at))
        return PYUSDT_MISFIT_MEMORY;
    if (at == 0 || at % 4 != 0 || !read_int(target, at, &value))
        return PYUSDT_MISFIT_LOCK;
    *held = value == -1 || (value & INT32_MAX) == 0;
    return *held || (value & INT32_MAX) == 1 ? PYUSDT_MISFIT_NONE : PYUSDT_MISFIT_LOCK;
}

static enum pyusdt_ring_result verify(const struct pyusdt_ring_target *target, struct ring *ring,
                                      enum pyusdt_misfit *misfit)
{
    const struct pyusdt_python_layout *layout = &target->layout;
    uint64_t finalizing;
    int32_t is_ending, is_ready;
    bool held = false;

    *misfit = layout->ring_entries ? PYUSDT_MISFIT_NONE : PYUSDT_MISFIT_TABLE;
    if (!*misfit &&
        (!read_word(target, target->runtime + layout->runtime_main, &ring->interp) ||
         !read_word(target, target->runtime + layout->runtime_finalizing, &finalizing) ||
         !read_int(target, target->runtime + layout->runtime_initialized, &is_ready)))
        *misfit = PYUSDT_MISFIT_MEMORY;
    if (!*misfit && ring->interp == 0 && !is_ready)
        return PYUSDT_RING_STARTING;
    if (!*misfit)
        *misfit = verify_interpreter(target, ring);
    if (!*misfit && !read_int(target, ring->interp + layout->interp_finalizing, &is_ending))
        *misfit = PYUSDT_MISFIT_MEMORY;
    if (!*misfit && (finalizing != 0 || is_ending != 0))
        return PYUSDT_RING_FINALIZING;
    if (!*misfit && !is_ready)
        return PYUSDT_RING_STARTING;
    if (!*misfit)
        *misfit = verify_threads(target, ring);
    if (!*misfit)
        *misfit = verify_breaker(target, ring);
    if (!*misfit)
        *misfit = read_lock(target, ring, &held);
    if (*misfit)
        return PYUSDT_RING_MISFIT;
    if (held) /* its holder is about to change the rest */
        return PYUSDT_RING_LOCKED;
    *misfit = read_ring(target, ring);
    return *misfit ? PYUSDT_RING_MISFIT : PYUSDT_RING_DONE;
}

/* ---- the entry ---- */

static uint64_t entry_address(const struct pyusdt_ring_target *target, const struct ring *ring,
                              int32_t i)
{
    return ring->at + target->layout.ring_calls + (uint64_t)i * ring->entry;
}

/* Its position, or -1. */
static int32_t find_entry(const struct pyusdt_ring_target *target, const struct ring *ring,
                          uint64_t slot)
{
    uint64_t words[2];

    for (int32_t i = ring->first; i != ring->last; i = (i + 1) % (int32_t)ring->n)
        if (pyusdt_memory_read(&target->memory, entry_address(target, ring, i), words,
                               sizeof words) == 0 &&
            words[0] == target->function && words[1] == slot)
            return i;
    return -1;
}

/* Or a tracer that was killed has left a text there, which has run to its end or never will run. */
static bool is_free(const struct pyusdt_ring_target *target, const struct ring *ring,
                    const char *bytes, uint64_t slot)
{
    static const char zeros[PYUSDT_SLOT_SIZE];
    char state = bytes[PYUSDT_SLOT_REPORT];

    if (memcmp(bytes, zeros, sizeof zeros) == 0)
        return true;
    if (!target->takes_abandoned || memcmp(bytes, target->text, PYUSDT_SLOT_MARK) != 0)
        return false;
    if (state == PYUSDT_STATE_DONE || state == PYUSDT_STATE_FAILED)
        return true;
    return state == 0 && find_entry(target, ring, slot) < 0;
}

/* The slot, if it is free; else 0. */
static uint64_t find_slot(const struct pyusdt_ring_target *target, const struct ring *ring)
{
    static char bytes[PYUSDT_SLOT_SIZE];
    uint64_t slot = target->choice < target->slots ? target->slot[target->choice] : 0;

    return slot != 0 && pyusdt_memory_read(&target->memory, slot, bytes, sizeof bytes) == 0 &&
                   is_free(target, ring, bytes, slot)
               ? slot
               : 0;
}

/* The process may be killed right behind it. */
static void note_step(struct pyusdt_ring_target *target, enum pyusdt_put_step step)
{
    __atomic_store_n(&target->step, step, __ATOMIC_SEQ_CST);
}

static bool write_text(const struct pyusdt_ring_target *target)
{
    static char bytes[PYUSDT_SLOT_SIZE];

    memcpy(bytes, target->text, target->size);
    return pyusdt_memory_force(&target->memory, target->used, bytes, sizeof bytes) == 0;
}

/* From 3.13 on: a tracer that was killed between two stores has left its entry, the last one, uncounted. */
static bool mend_count(const struct pyusdt_ring_target *target, struct ring *ring)
{
    int32_t i = (ring->last + (int32_t)ring->n - 1) % (int32_t)ring->n;
    uint64_t words[2];
    bool is_ours = false;

    if (!counts(target) || between(ring) != (ring->todo + 1) % (int32_t)ring->n)
        return true;
    if (pyusdt_memory_read(&target->memory, entry_address(target, ring, i), words, sizeof words) !=
            0 ||
        words[0] != target->function)
        return true; /* for verify_count() */
    for (uint32_t k = 0; k < target->slots; k++)
        is_ours |= words[1] == target->slot[k];
    if (!is_ours)
        return true;
    ring->todo++;
    return write_int(target, ring->at + target->layout.ring_todo, ring->todo);
}

/* The interpreter looks at its pending calls from now on. */
static bool set_flags(const struct pyusdt_ring_target *target, const struct ring *ring)
{
    const struct pyusdt_python_layout *layout = &target->layout;
    uint64_t thread, breaker;

    if (!layout->thread_breaker)
        return write_int(target, ring->at + layout->ring_todo, 1) &&
               write_int(target, ring->interp + layout->interp_breaker, 1);
    if (!read_word(target, ring->interp + layout->interp_threads, &thread))
        return false;
    for (int n = 0; thread != 0 && n < MOST_THREADS; n++) {
        if (!read_word(target, thread + layout->thread_breaker, &breaker))
            return false;
        breaker |= CALLS_TO_DO;
        if (pyusdt_memory_write(&target->memory, thread + layout->thread_breaker, &breaker,
                                sizeof breaker) != 0 ||
            !read_word(target, thread + layout->thread_next, &thread))
            return false;
    }
    return true;
}

/* All of the entry: its flags from 3.13 on may be those of an old one, and free the text. */
static bool write_entry(const struct pyusdt_ring_target *target, const struct ring *ring)
{
    uint64_t words[3] = {target->function, target->used, 0};

    return pyusdt_memory_write(&target->memory, entry_address(target, ring, ring->last), words,
                               ring->entry) == 0;
}

enum pyusdt_ring_result pyusdt_ring_put(struct pyusdt_ring_target *target,
                                        enum pyusdt_misfit *misfit)
{
    const struct pyusdt_python_layout *layout = &target->layout;
    struct ring ring;
    enum pyusdt_ring_result r = verify(target, &ring, misfit);

    if (r != PYUSDT_RING_DONE)
        return r;
    if (!mend_count(target, &ring))
        return PYUSDT_RING_FAILED;
    *misfit = verify_count(target, &ring);
    if (*misfit)
        return PYUSDT_RING_MISFIT;
    if (between(&ring) > ring.max - SPARE || (uint64_t)between(&ring) + SPARE > ring.n)
        return PYUSDT_RING_FULL;
    target->used = find_slot(target, &ring);
    if (target->used == 0)
        return PYUSDT_RING_NO_SLOT;
    PYUSDT_ATTACH_HOOK(1);
    if (!write_text(target))
        return PYUSDT_RING_FAILED;
    note_step(target, PYUSDT_STEP_TEXT);
    PYUSDT_ATTACH_HOOK(2);
    if (!write_entry(target, &ring))
        return PYUSDT_RING_FAILED;
    PYUSDT_ATTACH_HOOK(3);
    note_step(target, PYUSDT_STEP_ENTERING);
    if (!write_int(target, ring.at + layout->ring_last, (ring.last + 1) % (int32_t)ring.n))
        return PYUSDT_RING_FAILED;
    note_step(target, PYUSDT_STEP_ENTERED);
    PYUSDT_ATTACH_HOOK(4);
    if (counts(target) && !write_int(target, ring.at + layout->ring_todo, ring.todo + 1))
        return PYUSDT_RING_FAILED;
    PYUSDT_ATTACH_HOOK(5);
    if (!set_flags(target, &ring))
        return PYUSDT_RING_FAILED;
    PYUSDT_ATTACH_HOOK(6);
    return PYUSDT_RING_DONE;
}

enum pyusdt_ring_result pyusdt_ring_mend(struct pyusdt_ring_target *target,
                                         enum pyusdt_misfit *misfit)
{
    struct ring ring;
    enum pyusdt_ring_result r = verify(target, &ring, misfit);

    if (r != PYUSDT_RING_DONE)
        return r;
    if (find_entry(target, &ring, target->used) < 0)
        return PYUSDT_RING_GONE;
    return mend_count(target, &ring) && set_flags(target, &ring) ? PYUSDT_RING_DONE
                                                                 : PYUSDT_RING_FAILED;
}

/* The last entry leaves the ring; in the place of another one stays a call that runs an empty text. */
enum pyusdt_ring_result pyusdt_ring_withdraw(struct pyusdt_ring_target *target,
                                             enum pyusdt_misfit *misfit)
{
    const struct pyusdt_python_layout *layout = &target->layout;
    static const char zeros[PYUSDT_SLOT_SIZE];
    const uint64_t nothing[3] = {0, 0, 0};
    struct ring ring;
    enum pyusdt_ring_result r = verify(target, &ring, misfit);
    int32_t i;

    if (r != PYUSDT_RING_DONE)
        return r;
    i = find_entry(target, &ring, target->used);
    if (i < 0)
        return PYUSDT_RING_GONE;
    if ((i + 1) % (int32_t)ring.n == ring.last) {
        if (counts(target) && between(&ring) == ring.todo &&
            !write_int(target, ring.at + layout->ring_todo, ring.todo - 1))
            return PYUSDT_RING_FAILED;
        PYUSDT_ATTACH_HOOK(7);
        if (!write_int(target, ring.at + layout->ring_last, i))
            return PYUSDT_RING_FAILED;
        PYUSDT_ATTACH_HOOK(8);
        if (pyusdt_memory_write(&target->memory, entry_address(target, &ring, i), nothing,
                                ring.entry) != 0)
            return PYUSDT_RING_FAILED;
    }
    PYUSDT_ATTACH_HOOK(9);
    return pyusdt_memory_force(&target->memory, target->used, zeros, sizeof zeros) == 0
               ? PYUSDT_RING_DONE
               : PYUSDT_RING_FAILED;
}

int pyusdt_ring_waits(const struct pyusdt_ring_target *target)
{
    enum pyusdt_misfit misfit;
    struct ring ring;

    misfit = verify_interpreter(target, &ring);
    if (!misfit)
        misfit = read_ring(target, &ring);
    if (misfit)
        return -1;
    return find_entry(target, &ring, target->used) >= 0;
}
