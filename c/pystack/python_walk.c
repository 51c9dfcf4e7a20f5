/* See python_walk.h. */
#include "pystack/python_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    RECORD = 256, /* of a frame or a thread: as much as is read */
    WINDOWS =
        2048, /* pages that the frames of one stack may lie in; before 3.11 each is an object of some 480 bytes */
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

/* A read takes the time of many instructions of the program, and may be of two moments.  A program in a short loop
 * shows such a stack again a turn later, so reads at even distances would all see it: these many words are read after each. */
static const uint32_t pauses[LOOKS] = {1, 2, 4, 0};

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

    uint64_t *words;
    size_t nwords, room;
};

/* ---- reading ---- */

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
    uint64_t value;

    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static int read_word(const struct pyusdt_walker *w, uint64_t address, uint64_t *value)
{
    return pyusdt_memory_read(&w->memory, address, value, sizeof *value);
}

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

/* The innermost frame; 0 where there is none. */
static uint64_t read_head(const struct pyusdt_walker *w, uint64_t thread, struct head *head)
{
    *head = (struct head){0};
    if (!w->layout.thread_cframe)
        return read_word(w, thread + w->layout.thread_frame, &head->word[0]) ? 0 : head->word[0];
    if (read_word(w, thread + w->layout.thread_cframe, &head->word[0]) || !head->word[0] ||
        read_word(w, head->word[0] + w->layout.cframe_frame, &head->word[1]))
        return 0;
    return head->word[1];
}

static size_t window_parts(const struct pyusdt_walker *w, int look,
                           struct pyusdt_memory_part *parts)
{
    for (uint32_t i = 0; i < w->nwindows; i++) {
        struct window *window = w->windows[i];
        parts[i] = (struct pyusdt_memory_part){window->start + window->low,
                                               window->again[look] + window->low,
                                               window->high - window->low};
    }
    return w->nwindows;
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

/* Until all reads agree, or the tries are over.  *skip: how many of w->seen are not to be shown. */
static uint32_t read_stack(struct pyusdt_walker *w, uint64_t thread, uint32_t tries, uint32_t *skip)
{
    struct head head;
    uint32_t flags = PYUSDT_STACK_LOST; /* where the budget is spent */
    bool moved = false;

    forget_thread(w);
    for (uint32_t i = 0; i < tries && w->spent < BUDGET; i++) {
        forget_thread(w);
        flags = follow_frames(w, read_head(w, thread, &head));
        moved = !(flags & PYUSDT_STACK_LOST) && !look_again(w, thread, &head);
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

/* ---- threads ---- */

static int reserve(struct pyusdt_walker *w, size_t more)
{
    uint64_t *grown;

    if (w->nwords + more <= w->room)
        return 0;
    grown = realloc(w->words, 2 * (w->room + more) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    w->words = grown;
    w->room = 2 * (w->room + more);
    return 0;
}

static bool is_first(const struct pyusdt_walker *w, uint32_t i)
{
    return w->seen[i].entry || i + 1 == w->nseen || !w->seen[i + 1].shown;
}

/* What the C function keeps for it; 0: it is not known. */
static uint64_t entry_of(const struct pyusdt_walker *w, uint32_t i)
{
    const struct seen *outer = &w->seen[i + 1];

    return i + 1 < w->nseen && !outer->shown ? outer->window->start + outer->at : 0;
}

static uint64_t *put_frame(const struct pyusdt_walker *w, uint32_t i, uint64_t *at)
{
    bool first = is_first(w, i);

    *at++ = (w->seen[i].code & ~(uint64_t)PYUSDT_FRAME_FIRST) | (first ? PYUSDT_FRAME_FIRST : 0);
    *at++ = w->seen[i].instr;
    if (w->addresses) {
        *at++ = PYUSDT_FRAME_ADDRESS;
        *at++ = w->seen[i].window->start + w->seen[i].at;
    }
    if (first && w->entries) {
        *at++ = PYUSDT_FRAME_FIRST;
        *at++ = entry_of(w, i);
    }
    return at;
}

static int put_stack(struct pyusdt_walker *w, struct pyusdt_walked *walked, uint32_t skip)
{
    size_t head = sizeof *walked / sizeof(uint64_t);
    uint64_t *at;
    int r = reserve(w, head + 2 * (1 + w->entries + w->addresses) * (size_t)w->nshown);

    if (r)
        return r;
    at = w->words + w->nwords + head;
    for (uint32_t i = skip; i < w->nseen; i++)
        if (w->seen[i].shown)
            at = put_frame(w, i, at);
    walked->frames = (uint64_t)(at - (w->words + w->nwords + head)) / 2;
    memcpy(w->words + w->nwords, walked, sizeof *walked);
    w->nwords = (size_t)(at - w->words);
    return 0;
}

/* Whether the thread is still what the list had; *gil: whether it holds its interpreter's lock. */
static bool is_still_listed(const struct pyusdt_walker *w, const struct listed *listed, bool *gil)
{
    uint64_t interp = 0, id = 0, holder = 0;
    uint32_t locked = 0;
    struct pyusdt_memory_part parts[] = {
        {listed->address + w->layout.thread_interp, &interp, sizeof interp},
        {listed->address + w->layout.thread_id, &id, sizeof id},
        {listed->gil + w->layout.gil_holder, &holder, sizeof holder},
        {listed->gil + w->layout.gil_locked, &locked, sizeof locked},
    };

    pyusdt_memory_read_parts(&w->memory, parts, listed->gil ? 4 : 2);
    *gil = locked == 1 && holder == listed->address;
    return interp == listed->interp && id == word_at(listed->record, w->layout.thread_id);
}

static void put_head(const struct pyusdt_walker *w, const struct listed *listed,
                     struct pyusdt_walked *head)
{
    *head = (struct pyusdt_walked){.thread = listed->address, .interpreter = listed->interp};
    head->id = word_at(listed->record, w->layout.thread_id);
    if (w->layout.thread_native)
        head->native = word_at(listed->record, w->layout.thread_native) & 0xffffffff;
}

static int walk_thread(struct pyusdt_walker *w, const struct listed *listed, uint32_t tries)
{
    struct pyusdt_walked walked;
    uint32_t skip = 0;
    bool gil;

    if (!is_still_listed(w, listed, &gil))
        return 0;
    put_head(w, listed, &walked);
    walked.flags = gil ? PYUSDT_STACK_GIL : 0;
    walked.flags |= read_stack(w, listed->address, tries, &skip);
    return put_stack(w, &walked, skip);
}

/* The threads of the last walk as they are now; those that cannot be read are left out. */
static void refresh_listed(struct pyusdt_walker *w)
{
    struct listed *last = w->listed;
    bool read[PYUSDT_WALK_THREADS];

    w->listed = w->before;
    w->before = last;
    for (uint32_t i = 0; i < w->nlisted; i++)
        w->parts[i] = (struct pyusdt_memory_part){last[i].address, last[i].record, RECORD};
    pyusdt_memory_read_each(&w->memory, w->parts, w->nlisted, read);
    w->nbefore = 0;
    for (uint32_t i = 0; i < w->nlisted; i++)
        if (read[i])
            last[w->nbefore++] = last[i];
    w->nlisted = 0;
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
        memcpy(listed->record, w->before[i].record, RECORD);
        *at = i + 1;
    } else {
        r = pyusdt_memory_read(&w->memory, listed->address, listed->record, RECORD);
    }
    return r ? r : word_at(listed->record, w->layout.thread_interp) == listed->interp ? 0 : -EFAULT;
}

/* The words of an interpreter. */
struct interp {
    uint64_t next, threads, gil;
};

static int read_interp(const struct pyusdt_walker *w, uint64_t address, struct interp *interp)
{
    struct pyusdt_memory_part parts[] = {
        {address + w->layout.interp_threads, &interp->threads, sizeof interp->threads},
        {address + w->layout.interp_next, &interp->next, sizeof interp->next},
        {address + w->layout.interp_gil, &interp->gil, sizeof interp->gil},
    };
    size_t n = w->layout.interp_gil ? 3 : 2;

    interp->gil = w->layout.runtime_gil ? w->runtime + w->layout.runtime_gil : 0;
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

static int list_threads(struct pyusdt_walker *w)
{
    uint64_t address = 0;
    uint32_t at = 0;
    int r = read_word(w, w->runtime + w->layout.runtime_interpreters, &address);

    refresh_listed(w);
    for (uint32_t i = 0; r == 0 && address && i < PYUSDT_WALK_INTERPRETERS; i++) {
        struct interp interp = {0};

        r = read_interp(w, address, &interp);
        if (r)
            return r;
        list_threads_of(w, address, &interp, &at);
        address = interp.next;
    }
    return r;
}

static int compare_words(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

    return first < second ? -1 : first > second;
}

int pyusdt_walk(struct pyusdt_walker *w, const uint64_t *skip, size_t nskip, const uint64_t **words,
                size_t *n)
{
    int r = list_threads(w);

    w->nwords = w->spent = 0;
    for (uint32_t i = 0; r != -ENOMEM && i < w->nlisted; i++)
        if (!nskip || !bsearch(&w->listed[i].address, skip, nskip, sizeof *skip, compare_words)) {
            int code = walk_thread(w, &w->listed[i], w->tries);
            r = code ? code : r;
        }
    *words = w->words;
    *n = w->nwords;
    return !pyusdt_memory_is_same_process(&w->memory) ? -ESRCH : r;
}

int pyusdt_walk_list(struct pyusdt_walker *w)
{
    w->nwords = w->spent = 0;
    return list_threads(w);
}

void pyusdt_walk_head(const struct pyusdt_walker *w, uint32_t i, struct pyusdt_walked *head)
{
    put_head(w, &w->listed[i], head);
}

uint32_t pyusdt_walk_flags(struct pyusdt_walker *w, uint32_t i)
{
    uint32_t skip = 0;
    bool gil;

    return is_still_listed(w, &w->listed[i], &gil) ? read_stack(w, w->listed[i].address, 1, &skip)
                                                   : 0;
}

bool pyusdt_walk_has_gil(const struct pyusdt_walker *w, uint32_t i)
{
    bool gil = false;

    return is_still_listed(w, &w->listed[i], &gil) && gil;
}

int pyusdt_walk_thread(struct pyusdt_walker *w, uint32_t i, uint32_t tries, size_t *at)
{
    *at = w->nwords;
    return walk_thread(w, &w->listed[i], tries);
}

const uint64_t *pyusdt_walker_words(const struct pyusdt_walker *w, size_t *n)
{
    *n = w->nwords;
    return w->words;
}

uint32_t pyusdt_walker_threads(const struct pyusdt_walker *w)
{
    return w->nlisted;
}

/* ---- making one ---- */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t record_of(const struct pyusdt_python_layout *layout)
{
    return 8 +
           max_u32(max_u32(layout->frame_previous, layout->frame_code),
                   max_u32(layout->frame_instr, max_u32(layout->frame_owner, layout->frame_entry)));
}

/* The process is untrusted. */
static bool is_sane(const struct pyusdt_python_layout *layout)
{
    uint32_t thread = max_u32(max_u32(layout->thread_next, layout->thread_interp),
                              max_u32(layout->thread_id, layout->thread_native));

    return record_of(layout) <= RECORD && thread + 8 <= RECORD &&
           layout->unicode_length + 8 <= layout->unicode_ascii_data &&
           layout->unicode_state < layout->unicode_ascii_data &&
           layout->bytes_size + 8 <= layout->bytes_data;
}

struct pyusdt_walker *pyusdt_walker_new(const struct pyusdt_memory *memory,
                                        const struct pyusdt_python_layout *layout, uint64_t runtime,
                                        uint32_t frames, uint32_t tries, bool entries,
                                        bool addresses)
{
    struct pyusdt_walker *w =
        is_sane(layout) && frames > 0 && frames <= PYUSDT_WALK_FRAMES ? calloc(1, sizeof *w) : NULL;

    if (!w)
        return NULL;
    w->memory = *memory;
    w->layout = *layout;
    w->runtime = runtime;
    w->max_frames = frames;
    w->tries = tries;
    w->entries = entries;
    w->addresses = addresses;
    w->record = record_of(layout);
    w->seen = calloc(2 * (size_t)frames, sizeof *w->seen);
    w->listed = malloc(PYUSDT_WALK_THREADS * sizeof *w->listed);
    w->before = malloc(PYUSDT_WALK_THREADS * sizeof *w->before);
    if (w->seen && w->listed && w->before)
        return w;
    pyusdt_walker_free(w);
    return NULL;
}

void pyusdt_walker_free(struct pyusdt_walker *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < WINDOWS; i++)
        free(w->windows[i]);
    free(w->seen);
    free(w->listed);
    free(w->before);
    free(w->words);
    free(w);
}
