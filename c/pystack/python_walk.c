/* See python_walk.h. */
#include "pystack/python_walk.h"

#include <errno.h>
#include <stdlib.h>

#include "pystack/walker_state.h"

/* ---- words ---- */

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

static void put_head(const struct pyusdt_walker *w, const struct listed *listed,
                     struct pyusdt_walked *head)
{
    *head = (struct pyusdt_walked){.thread = listed->address, .interpreter = listed->interp};
    head->id = word_at(listed->record, w->layout.thread_id);
    if (w->layout.thread_native)
        head->native = word_at(listed->record, w->layout.thread_native) & 0xffffffff;
}

static int walk_thread(struct pyusdt_walker *w, struct listed *listed, uint32_t tries)
{
    struct pyusdt_walked walked;
    struct head head;
    uint32_t skip = 0;
    bool gil;

    if (!pyusdt_stack_read_ahead(w, listed, &head, &gil))
        return 0;
    put_head(w, listed, &walked);
    walked.flags = gil ? PYUSDT_STACK_GIL : 0;
    walked.flags |= pyusdt_stack_read(w, listed, tries, &head, &skip);
    return put_stack(w, &walked, skip);
}

static int compare_words(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

    return first < second ? -1 : first > second;
}

int pyusdt_walk(struct pyusdt_walker *w, const uint64_t *skip, size_t nskip, const uint64_t **words,
                size_t *n)
{
    int r = pyusdt_thread_list(w);

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
    return pyusdt_thread_list(w);
}

void pyusdt_walk_head(const struct pyusdt_walker *w, uint32_t i, struct pyusdt_walked *head)
{
    put_head(w, &w->listed[i], head);
}

uint32_t pyusdt_walk_flags(struct pyusdt_walker *w, uint32_t i)
{
    struct listed *listed = &w->listed[i];
    struct head head;
    uint32_t skip = 0;
    bool gil;

    return pyusdt_stack_read_ahead(w, listed, &head, &gil)
               ? pyusdt_stack_read(w, listed, 1, &head, &skip)
               : 0;
}

bool pyusdt_walk_has_gil(struct pyusdt_walker *w, uint32_t i)
{
    struct head unused;
    bool gil = false;

    return pyusdt_stack_read_ahead(w, &w->listed[i], &unused, &gil) && gil;
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
