/* The reading of one stack: see python_walk.h and walker_state.h. */
#include <stdlib.h>

#include "pystack/walker_state.h"

/* A read takes the time of many instructions of the program, and may be of two moments.  A program in a short loop
 * shows such a stack again a turn later, so reads at even distances would all see it: these many words are read after each. */
static const uint32_t pauses[LOOKS] = {1, 2, 4, 0};

/* ---- reading ---- */

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(PAGE - 1);
}

static struct window *new_window(struct pyusdt_walker *w, uint64_t address)
{
    struct window *window;

    w->spent += PAGE_COST;
    if (!w->windows[w->nwindows])
        w->windows[w->nwindows] = malloc(sizeof *window);
    window = w->windows[w->nwindows];
    if (window) {
        window->start = page_of(address);
        window->low = PAGE + RECORD;
        window->high = 0;
        w->nwindows++;
    }
    return window;
}

static bool has_record(const struct pyusdt_walker *w, const struct window *window, uint64_t address)
{
    return address >= window->start && address - window->start < PAGE &&
           address - window->start + w->record <= window->size;
}

/* The window that the frame at the address lies in, read where it has not been yet; NULL: it is not there. */
static struct window *window_of(struct pyusdt_walker *w, uint64_t address)
{
    struct pyusdt_memory_part part;
    struct window *window;
    int64_t got;

    for (uint32_t i = w->nwindows; i-- > 0;)
        if (w->windows[i]->start == page_of(address))
            return has_record(w, w->windows[i], address) ? w->windows[i] : NULL;
    window = new_window(w, address);
    if (!window)
        return NULL;
    part = (struct pyusdt_memory_part){window->start, window->first, PAGE + RECORD};
    got = pyusdt_memory_read_parts(&w->memory, &part, 1);
    window->size = got > 0 ? (size_t)got : 0;
    return has_record(w, window, address) ? window : NULL;
}

/* ---- one reading of a stack ---- */

static uint64_t instr_at(const struct pyusdt_walker *w, const uint8_t *frame)
{
    int32_t index;

    if (w->layout.code_instructions)
        return word_at(frame, w->layout.frame_instr);
    memcpy(&index, frame + w->layout.frame_instr, sizeof index);
    return (uint64_t)(int64_t)index;
}

/* What a frame runs; in 3.14 and later the two lowest bits of the pointer are no part of it. */
static uint64_t code_at(const struct pyusdt_walker *w, const uint8_t *frame)
{
    return word_at(frame, w->layout.frame_code) & ~(uint64_t)(w->layout.minor >= 14 ? 3 : 0);
}

static bool is_function(const struct pyusdt_walker *w, const uint8_t *frame)
{
    return !w->layout.frame_owner || frame[w->layout.frame_owner] < PYUSDT_PYTHON_NO_CODE;
}

/* Whether C began the interpreter for it; from 3.12 on the frame outside of it, which is no function's, says so instead. */
static bool is_entry(const struct pyusdt_walker *w, const uint8_t *frame)
{
    return w->layout.minor <= 10 || (w->layout.frame_entry && frame[w->layout.frame_entry]);
}

/* Note a frame; the one outside of it. */
static uint64_t note_frame(struct pyusdt_walker *w, struct window *window, uint64_t address)
{
    uint32_t at = (uint32_t)(address - window->start);
    const uint8_t *frame = window->first + at;
    bool shown = is_function(w, frame);

    w->seen[w->nseen++] =
        (struct seen){code_at(w, frame), instr_at(w, frame), window, at, shown, is_entry(w, frame)};
    w->nshown += shown;
    window->low = at < window->low ? at : window->low;
    window->high = at + w->record > window->high ? at + w->record : window->high;
    return word_at(frame, w->layout.frame_previous);
}

static void forget_thread(struct pyusdt_walker *w)
{
    w->nwindows = w->nseen = w->nshown = 0;
}

/* From the innermost frame outwards: into w->seen.  Flags of PYUSDT_STACK_. */
static uint32_t follow_frames(struct pyusdt_walker *w, uint64_t frame)
{
    uint64_t mark = 0; /* a frame seen before, further and further in between: a circle meets it */

    while (frame && w->nshown < w->max_frames && w->nseen < 2 * w->max_frames &&
           w->nwindows < WINDOWS) {
        struct window *window = w->spent++ < BUDGET ? window_of(w, frame) : NULL;
        if (!window || frame == mark)
            return PYUSDT_STACK_LOST;
        if ((w->nseen & (w->nseen - 1)) == 0)
            mark = frame;
        frame = note_frame(w, window, frame);
    }
    return frame ? PYUSDT_STACK_CUT : 0;
}

/* ---- reading again ---- */

/* The parts to read for the head; how many. */
static size_t head_parts(const struct pyusdt_walker *w, uint64_t thread, uint64_t cframe,
                         struct head *head, struct pyusdt_memory_part *parts)
{
    if (!w->layout.thread_cframe) {
        parts[0] = (struct pyusdt_memory_part){thread + w->layout.thread_frame, &head->word[0],
                                               sizeof head->word[0]};
        return 1;
    }
    parts[0] = (struct pyusdt_memory_part){thread + w->layout.thread_cframe, &head->word[0],
                                           sizeof head->word[0]};
    parts[1] = (struct pyusdt_memory_part){cframe + w->layout.cframe_frame, &head->word[1],
                                           sizeof head->word[1]};
    return 2;
}

static uint64_t innermost_of(const struct pyusdt_walker *w, const struct head *head)
{
    return head->word[w->layout.thread_cframe ? 1 : 0];
}

/* 0 where there is no frame. */
static void read_head(const struct pyusdt_walker *w, uint64_t thread, struct head *head)
{
    struct pyusdt_memory_part parts[HEAD];
    uint64_t cframe = 0;

    *head = (struct head){0};
    if (w->layout.thread_cframe &&
        (read_word(w, thread + w->layout.thread_cframe, &cframe) || !cframe))
        return;
    if (pyusdt_memory_read_parts(&w->memory, parts, head_parts(w, thread, cframe, head, parts)) <
        (int64_t)sizeof head->word[0] * (w->layout.thread_cframe ? 2 : 1))
        *head = (struct head){0};
}

/* Those of windows that have frames of this stack; how many. */
static size_t window_parts(const struct pyusdt_walker *w, int look,
                           struct pyusdt_memory_part *parts)
{
    size_t n = 0;

    for (uint32_t i = 0; i < w->nwindows; i++) {
        struct window *window = w->windows[i];

        if (window->high > window->low)
            parts[n++] = (struct pyusdt_memory_part){window->start + window->low,
                                                     window->again[look] + window->low,
                                                     window->high - window->low};
    }
    return n;
}

/* Whether all parts are there, read one after the other. */
static bool read_all(const struct pyusdt_walker *w, size_t n)
{
    for (size_t from = 0, size; from < n; from += size) {
        int64_t wanted = 0;
        size = n - from < PYUSDT_MEMORY_PARTS ? n - from : PYUSDT_MEMORY_PARTS;
        for (size_t i = from; i < from + size; i++)
            wanted += (int64_t)w->parts[i].size;
        if (pyusdt_memory_read_parts(&w->memory, w->parts + from, size) != wanted)
            return false;
    }
    return true;
}

/* Head and frames, in turn, as fast as the kernel can: what is the same each time was so all the while.  False: it was not. */
static bool look_again(struct pyusdt_walker *w, uint64_t thread, const struct head *first)
{
    struct head heads[LOOKS + 1] = {0};
    uint64_t unused;
    size_t n = 0;

    for (int look = 0; look <= LOOKS; look++) {
        n += head_parts(w, thread, first->word[0], &heads[look], w->parts + n);
        if (look < LOOKS)
            n += window_parts(w, look, w->parts + n);
        for (uint32_t i = 0; look < LOOKS && i < pauses[look]; i++)
            w->parts[n++] = (struct pyusdt_memory_part){thread, &unused, sizeof unused};
    }
    if (!read_all(w, n)) {
        w->nseen = 0;
        return false;
    }
    for (int look = 0; look <= LOOKS; look++)
        if (memcmp(&heads[look], first, sizeof *first) != 0)
            return false;
    return true;
}

static bool is_same_function(const struct pyusdt_walker *w, const struct seen *seen)
{
    const uint8_t *first = seen->window->first + seen->at, *again;

    for (int look = 0; look < LOOKS; look++) {
        again = seen->window->again[look] + seen->at;
        if (word_at(first, w->layout.frame_code) != word_at(again, w->layout.frame_code) ||
            word_at(first, w->layout.frame_previous) != word_at(again, w->layout.frame_previous))
            return false;
    }
    return true;
}

static bool is_same_place(const struct pyusdt_walker *w, const struct seen *seen)
{
    for (int look = 0; look < LOOKS; look++)
        if (instr_at(w, seen->window->again[look] + seen->at) != seen->instr)
            return false;
    return true;
}

/* How many of the innermost frames to leave out, so that all others, up to the outermost, were the same each time; *moved: at
 * least one of those that stay was at another position. */
static uint32_t count_unstable(const struct pyusdt_walker *w, bool *moved)
{
    uint32_t from = w->nseen;

    while (from > 0 && is_same_function(w, &w->seen[from - 1])) {
        from--;
        if (from > 0 &&
            !is_same_place(
                w,
                &w->seen[from])) /* where the innermost is changes all the time, which is no harm */
            *moved = true;
    }
    return from;
}

static uint32_t read_tries(struct pyusdt_walker *w, uint64_t thread, uint32_t tries,
                           struct head *head, uint32_t *skip)
{
    uint32_t flags = PYUSDT_STACK_LOST; /* where the budget is spent */
    bool moved = false;

    for (uint32_t i = 0; i < tries && w->spent < BUDGET; i++) {
        if (i > 0) {
            forget_thread(w);
            read_head(w, thread, head);
        }
        flags = follow_frames(w, innermost_of(w, head));
        moved = !(flags & PYUSDT_STACK_LOST) && !look_again(w, thread, head);
        if (flags & PYUSDT_STACK_LOST) {
            *skip = w->nseen;
            continue;
        }
        *skip = count_unstable(w, &moved);
        if (*skip == 0 && !moved)
            return flags | (w->nseen && !is_same_place(w, &w->seen[0]) ? PYUSDT_STACK_RAN : 0);
    }
    if (flags & PYUSDT_STACK_LOST)
        return PYUSDT_STACK_LOST;
    return flags | (*skip ? PYUSDT_STACK_TORN : PYUSDT_STACK_MOVED);
}

/* ---- reading ahead ---- */

/* What is read of a thread before its stack is followed. */
struct ahead {
    uint64_t interp, id, holder;
    uint32_t locked;
    struct head head;
};

static size_t ahead_parts(const struct pyusdt_walker *w, const struct listed *listed,
                          struct ahead *ahead, struct pyusdt_memory_part *parts)
{
    size_t n = 2;

    parts[0] = (struct pyusdt_memory_part){listed->address + w->layout.thread_interp,
                                           &ahead->interp, sizeof ahead->interp};
    parts[1] = (struct pyusdt_memory_part){listed->address + w->layout.thread_id, &ahead->id,
                                           sizeof ahead->id};
    if (listed->gil) {
        parts[n++] = (struct pyusdt_memory_part){listed->gil + w->layout.gil_holder, &ahead->holder,
                                                 sizeof ahead->holder};
        parts[n++] = (struct pyusdt_memory_part){listed->gil + w->layout.gil_locked, &ahead->locked,
                                                 sizeof ahead->locked};
    }
    return n;
}

/* The pages in which the stack was, if there is room for them; how many. */
static size_t page_parts(struct pyusdt_walker *w, const struct listed *listed,
                         struct pyusdt_memory_part *parts)
{
    size_t n = 0;

    for (uint32_t i = 0; i < listed->npages && w->spent < BUDGET; i++) {
        struct window *window = new_window(w, listed->pages[i]);

        if (!window)
            break;
        window->size = PAGE + RECORD;
        parts[n++] = (struct pyusdt_memory_part){window->start, window->first, window->size};
    }
    return n;
}

/* Windows that could not be read whole are read when a frame is in them. */
static void keep_windows(struct pyusdt_walker *w, const bool *read)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < w->nwindows; i++)
        if (read[i]) {
            struct window *window = w->windows[i];

            w->windows[i] = w->windows[kept];
            w->windows[kept++] = window;
        }
    w->nwindows = kept;
}

bool pyusdt_stack_read_ahead(struct pyusdt_walker *w, const struct listed *listed,
                             struct head *head, bool *gil)
{
    struct pyusdt_memory_part parts[4 + HEAD + HINTS];
    bool read[4 + HEAD + HINTS], known = true;
    struct ahead ahead = {0};
    size_t first = ahead_parts(w, listed, &ahead, parts), n = first;

    forget_thread(w);
    n += head_parts(w, listed->address, listed->cframe, &ahead.head, parts + n);
    n += page_parts(w, listed, parts + n);
    pyusdt_memory_read_each(&w->memory, parts, n, read);
    keep_windows(w, read + n - w->nwindows);
    *gil = ahead.locked == 1 && ahead.holder == listed->address;
    for (size_t i = first; i < first + (w->layout.thread_cframe ? 2 : 1); i++)
        known &= read[i];
    *head = ahead.head;
    if (!known || (w->layout.thread_cframe && head->word[0] != listed->cframe))
        read_head(w, listed->address, head);
    return ahead.interp == listed->interp &&
           ahead.id == word_at(listed->record, w->layout.thread_id);
}

static bool has_page(const struct listed *listed, uint64_t page)
{
    for (uint32_t i = 0; i < listed->npages; i++)
        if (listed->pages[i] == page)
            return true;
    return false;
}

/* The pages in the order of the frames: inner frames, which change more often, are read first. */
static void keep_hints(const struct pyusdt_walker *w, struct listed *listed,
                       const struct head *head)
{
    listed->cframe = w->layout.thread_cframe ? head->word[0] : 0;
    listed->npages = 0;
    for (uint32_t i = 0; i < w->nseen && listed->npages < HINTS; i++)
        if (!has_page(listed, w->seen[i].window->start))
            listed->pages[listed->npages++] = w->seen[i].window->start;
}

uint32_t pyusdt_stack_read(struct pyusdt_walker *w, struct listed *listed, uint32_t tries,
                           struct head *head, uint32_t *skip)
{
    uint32_t flags = read_tries(w, listed->address, tries, head, skip);

    keep_hints(w, listed, head);
    return flags;
}
