/* The list of the threads of a Python: see python_walk.h and walker_state.h. */
#include <errno.h>

#include "pystack/walker_state.h"

/* The words of an interpreter. */
struct interp {
    uint64_t next, threads, gil;
};

static size_t interp_parts(const struct pyusdt_walker *w, uint64_t address, struct interp *interp,
                           struct pyusdt_memory_part *parts)
{
    parts[0] = (struct pyusdt_memory_part){address + w->layout.interp_threads, &interp->threads,
                                           sizeof interp->threads};
    parts[1] = (struct pyusdt_memory_part){address + w->layout.interp_next, &interp->next,
                                           sizeof interp->next};
    interp->gil = w->layout.runtime_gil ? w->runtime + w->layout.runtime_gil : 0;
    if (!w->layout.interp_gil)
        return 2;
    parts[2] = (struct pyusdt_memory_part){address + w->layout.interp_gil, &interp->gil,
                                           sizeof interp->gil};
    return 3;
}

/* The threads of the last walk as they are now, and the first interpreter, if it is the one that it was: by one read.  Those that cannot
 * be read are left out.  *address: of the first interpreter; *known: whether `interp` has its words. */
static int refresh_listed(struct pyusdt_walker *w, uint64_t *address, struct interp *interp,
                          bool *known)
{
    struct listed *last = w->listed;
    bool read[1 + INTERP + PYUSDT_WALK_THREADS];
    size_t first = 1 + interp_parts(w, w->last_interp, interp, w->parts + 1), n = first;

    w->listed = w->before;
    w->before = last;
    w->parts[0] = (struct pyusdt_memory_part){w->runtime + w->layout.runtime_interpreters, address,
                                              sizeof *address};
    for (uint32_t i = 0; i < w->nlisted; i++)
        w->parts[n++] = (struct pyusdt_memory_part){last[i].address, last[i].record, RECORD};
    pyusdt_memory_read_each(&w->memory, w->parts, n, read);
    w->nbefore = 0;
    for (uint32_t i = 0; i < w->nlisted; i++)
        if (read[first + i])
            last[w->nbefore++] = last[i];
    w->nlisted = 0;
    *known = *address == w->last_interp;
    for (size_t i = 1; i < first; i++)
        *known &= read[i];
    return read[0] ? 0 : read_word(w, w->runtime + w->layout.runtime_interpreters, address);
}

/* The thread's record, from `*at` on in the last walk's list if it is there.  -EFAULT if it is not a thread any more: it has ended,
 * and with it the way to the threads behind it. */
static int read_listed(struct pyusdt_walker *w, struct listed *listed, uint32_t *at)
{
    uint32_t end = *at + AHEAD < w->nbefore ? *at + AHEAD : w->nbefore;
    int r = 0;
    uint32_t i = *at;

    while (i < end && w->before[i].address != listed->address)
        i++;
    if (i < end) {
        uint64_t interp = listed->interp, gil = listed->gil;

        *listed = w->before[i];
        listed->interp = interp;
        listed->gil = gil;
        *at = i + 1;
    } else {
        listed->cframe = listed->npages = 0;
        r = pyusdt_memory_read(&w->memory, listed->address, listed->record, RECORD);
    }
    return r ? r : word_at(listed->record, w->layout.thread_interp) == listed->interp ? 0 : -EFAULT;
}

static int read_interp(const struct pyusdt_walker *w, uint64_t address, struct interp *interp)
{
    struct pyusdt_memory_part parts[INTERP];
    size_t n = interp_parts(w, address, interp, parts);

    return pyusdt_memory_read_parts(&w->memory, parts, n) == (int64_t)(n * sizeof(uint64_t))
               ? 0
               : -EFAULT;
}

/* Into w->listed, of all interpreters PYUSDT_WALK_THREADS at most, lest a list in a circle has no end. */
static void list_threads_of(struct pyusdt_walker *w, uint64_t address, const struct interp *interp,
                            uint32_t *at)
{
    for (uint64_t next = interp->threads; next && w->nlisted < PYUSDT_WALK_THREADS;) {
        struct listed *listed = &w->listed[w->nlisted];

        listed->address = next;
        listed->interp = address;
        listed->gil = interp->gil;
        if (read_listed(w, listed, at))
            return;
        w->nlisted++;
        next = word_at(listed->record, w->layout.thread_next);
    }
}

int pyusdt_thread_list(struct pyusdt_walker *w)
{
    uint64_t address = 0;
    struct interp interp = {0};
    bool known;
    uint32_t at = 0;
    int r = refresh_listed(w, &address, &interp, &known);

    w->last_interp = address;
    for (uint32_t i = 0; r == 0 && address && i < PYUSDT_WALK_INTERPRETERS; i++) {
        if (i > 0 || !known)
            r = read_interp(w, address, &interp);
        if (r)
            return r;
        list_threads_of(w, address, &interp, &at);
        address = interp.next;
    }
    return r;
}
