/* See stack_looks.h. */
#include "pystack/stack_looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pystack/ptrace_stop.h"

enum { HEAD = sizeof(struct pyusdt_walked) / sizeof(uint64_t), NONE = UINT32_MAX };

static const uint64_t MOVES = PYUSDT_STACK_MOVED | PYUSDT_STACK_TORN | PYUSDT_STACK_LOST;
static const uint64_t MARKS =
    PYUSDT_STACK_MOVED | PYUSDT_STACK_TORN | PYUSDT_STACK_CUT | PYUSDT_STACK_LOST;

/* A thread of the walker's list at this look. */
struct target {
    uint32_t known; /* its number among the known threads, or NONE */
    bool wanted, walked, handed;
    size_t at, end; /* its words */
};

struct pyusdt_looker {
    struct pyusdt_memory memory;
    struct pyusdt_walker *walker;
    struct pyusdt_thread_states *states;
    struct pyusdt_look_options options;
    struct pyusdt_identities *ids;
    struct pyusdt_stack_counts counts;

    struct pyusdt_look_thread *threads;
    pid_t *tids;
    char *letters;
    size_t nthreads;

    struct target targets[PYUSDT_WALK_THREADS];
    uint32_t ntargets;
    bool interpreters; /* there are several */

    struct pyusdt_stopped stopped[PYUSDT_STOP_MAX]; /* at this look */
    size_t nstopped;
    pid_t late[PYUSDT_STOP_MAX]; /* had not stopped in time, and may stop later */
    size_t nlate;

    uint64_t *words; /* for the caller */
    size_t nwords, room;
};

/* ---- words for the caller ---- */

static int put_words(struct pyusdt_looker *l, const uint64_t *words, size_t n)
{
    if (l->nwords + n > l->room) {
        uint64_t *grown = realloc(l->words, 2 * (l->nwords + n) * sizeof *grown);

        if (!grown)
            return -ENOMEM;
        l->words = grown;
        l->room = 2 * (l->nwords + n);
    }
    memcpy(l->words + l->nwords, words, n * sizeof *words);
    l->nwords += n;
    return 0;
}

static int hand_over(struct pyusdt_looker *l)
{
    size_t n;
    const uint64_t *words = pyusdt_walker_words(l->walker, &n);
    int r = 0;

    for (uint32_t i = 0; i < l->ntargets && r == 0; i++) {
        const struct target *target = &l->targets[i];

        if (target->handed)
            r = put_words(l, words + target->at, target->end - target->at);
    }
    return r ? r : l->nwords ? PYUSDT_LOOK_STACKS : PYUSDT_LOOK_DONE;
}

/* ---- threads ---- */

static int compare_threads(const void *a, const void *b)
{
    const struct pyusdt_look_thread *first = a, *second = b;

    if (first->thread != second->thread)
        return first->thread < second->thread ? -1 : 1;
    if (first->id != second->id)
        return first->id < second->id ? -1 : 1;
    return first->native < second->native ? -1 : first->native > second->native;
}

static uint32_t number_of(const struct pyusdt_looker *l, const struct pyusdt_walked *head)
{
    struct pyusdt_look_thread key = {head->thread, head->id, head->native, 0}, *found;

    found =
        l->nthreads ? bsearch(&key, l->threads, l->nthreads, sizeof key, compare_threads) : NULL;
    return found ? (uint32_t)(found - l->threads) : NONE;
}

static bool runs(const struct pyusdt_looker *l, const struct target *target)
{
    return target->known != NONE && l->letters[target->known] == 'R';
}

/* Whether one has ended. */
static bool read_letters(struct pyusdt_looker *l)
{
    if (!l->options.threads)
        return false;
    pyusdt_thread_states_read(l->states, l->tids, l->nthreads, l->letters);
    return l->nthreads && memchr(l->letters, 0, l->nthreads);
}

/* The threads of the list into l->targets; those that are not known into the words for the caller. */
static int list_targets(struct pyusdt_looker *l)
{
    uint64_t first = 0;
    int r = pyusdt_walk_list(l->walker);

    l->ntargets = r ? 0 : pyusdt_walker_threads(l->walker);
    l->interpreters = false;
    for (uint32_t i = 0; i < l->ntargets && r == 0; i++) {
        struct pyusdt_walked head;

        pyusdt_walk_head(l->walker, i, &head);
        l->targets[i] = (struct target){.known = number_of(l, &head)};
        first = i ? first : head.interpreter;
        l->interpreters |= head.interpreter != first;
        if (l->targets[i].known == NONE && l->options.threads)
            r = put_words(l, (const uint64_t *)&head, HEAD);
    }
    return r;
}

static bool is_late(const struct pyusdt_looker *l, pid_t tid)
{
    for (size_t i = 0; i < l->nlate; i++)
        if (l->late[i] == tid)
            return true;
    return false;
}

/* Whether its stack is to be read. */
static bool is_wanted(const struct pyusdt_looker *l, uint32_t i)
{
    const struct target *target = &l->targets[i];

    if (l->options.which == PYUSDT_LOOK_GIL)
        return pyusdt_walk_has_gil(l->walker, i);
    return l->options.which == PYUSDT_LOOK_ALL || runs(l, target) ||
           (target->known != NONE && is_late(l, l->tids[target->known]));
}

/* ---- stops ---- */

static void add_stop(struct pyusdt_looker *l, pid_t tid)
{
    if (l->nstopped < PYUSDT_STOP_MAX)
        l->stopped[l->nstopped++] = (struct pyusdt_stopped){.tid = tid};
}

/* Those that are on a processor, by a first reading, and those that were late. One that waits for a processor would stop only when it
 * has one, and stands still anyway. */
static void choose_stops(struct pyusdt_looker *l)
{
    l->nstopped = 0;
    if (!l->options.stop)
        return;
    for (size_t i = 0; i < l->nlate; i++)
        add_stop(l, l->late[i]);
    for (uint32_t i = 0; i < l->ntargets; i++) {
        const struct target *target = &l->targets[i];

        if (target->wanted && runs(l, target) && !is_late(l, l->tids[target->known]) &&
            pyusdt_walk_flags(l->walker, i) & (MOVES | PYUSDT_STACK_RAN))
            add_stop(l, l->tids[target->known]);
    }
}

static void stop_chosen(struct pyusdt_looker *l)
{
    int r;

    if (!l->nstopped)
        return;
    r = pyusdt_stop_threads(&l->memory, l->options.is_child, l->stopped, l->nstopped);
    l->nlate = 0;
    for (size_t i = 0; i < l->nstopped; i++)
        if (r < 0)
            l->stopped[i].result = -ESRCH;
        else if (l->stopped[i].result == -EAGAIN)
            l->late[l->nlate++] = l->stopped[i].tid;
}

/* Only those stay in the list that stood still all the time. */
static void resume_stopped(struct pyusdt_looker *l)
{
    size_t n = 0;

    for (size_t i = 0; i < l->nstopped; i++)
        if (l->stopped[i].result > 0)
            l->stopped[n++] = l->stopped[i];
    l->nstopped = n;
    if (!n)
        return;
    pyusdt_resume_threads(l->stopped, n);
    for (size_t i = n = 0; i < l->nstopped; i++)
        if (l->stopped[i].result)
            l->stopped[n++].tid = l->stopped[i].tid;
    l->nstopped = n;
}

static bool was_stopped(const struct pyusdt_looker *l, pid_t tid)
{
    for (size_t i = 0; i < l->nstopped; i++)
        if (l->stopped[i].tid == tid)
            return true;
    return false;
}

/* ---- reading ---- */

static uint64_t flags_at(const struct pyusdt_looker *l, const struct target *target)
{
    size_t n;

    return ((const struct pyusdt_walked *)(pyusdt_walker_words(l->walker, &n) + target->at))->flags;
}

static int read_target(struct pyusdt_looker *l, uint32_t i, uint32_t tries)
{
    struct target *target = &l->targets[i];
    int r = pyusdt_walk_thread(l->walker, i, tries, &target->at);

    pyusdt_walker_words(l->walker, &target->end);
    target->walked = target->end > target->at;
    return r;
}

static int read_targets(struct pyusdt_looker *l)
{
    bool stops = l->nstopped > 0;
    int r = 0;

    stop_chosen(l);
    for (uint32_t i = 0; i < l->ntargets && r == 0; i++)
        if (l->targets[i].wanted)
            r = read_target(l, i, stops ? 1 : l->options.tries);
    resume_stopped(l);
    /* those that could not be stopped, or go on just now */
    for (uint32_t i = 0; i < l->ntargets && stops && r == 0; i++)
        if (l->targets[i].walked && flags_at(l, &l->targets[i]) & MOVES)
            r = read_target(l, i, l->options.tries);
    return r;
}

/* A thread that was stopped ran before; by now it may do anything. */
static bool is_counted(const struct pyusdt_looker *l, const struct target *target)
{
    return target->walked && (l->options.which != PYUSDT_LOOK_RUNNING || runs(l, target) ||
                              (target->known != NONE && was_stopped(l, l->tids[target->known])));
}

/* ---- counting ---- */

static const uint64_t *frames_of(const struct pyusdt_looker *l, const struct target *target,
                                 size_t *n)
{
    size_t unused;
    const uint64_t *words = pyusdt_walker_words(l->walker, &unused) + target->at;

    *n = (target->end - target->at - HEAD) / 2;
    return words + HEAD;
}

/* Whether `holds` says so of each code object. */
static bool all_codes(struct pyusdt_looker *l, const struct target *target,
                      bool (*holds)(struct pyusdt_identities *, uint64_t))
{
    size_t n;
    const uint64_t *frames = frames_of(l, target, &n);

    for (size_t i = 0; i < n; i++)
        if (!holds(l->ids, frames[2 * i] & ~(uint64_t)PYUSDT_FRAME_FIRST))
            return false;
    return true;
}

static bool is_same(struct pyusdt_identities *ids, uint64_t code)
{
    return pyusdt_identities_is_same(ids, code);
}

/* Those whose code is not known are for the caller. Threads that run code of several interpreters have several stacks, which it merges. */
static void check_codes(struct pyusdt_looker *l)
{
    bool counts = l->options.counts && !l->interpreters;

    pyusdt_identities_begin(l->ids);
    for (uint32_t i = 0; i < l->ntargets; i++)
        if (l->targets[i].walked)
            l->targets[i].handed = !counts || !all_codes(l, &l->targets[i], pyusdt_identities_add);
    if (!counts)
        return;
    pyusdt_identities_check(l->ids);
    for (uint32_t i = 0; i < l->ntargets; i++)
        if (l->targets[i].walked && !l->targets[i].handed)
            l->targets[i].handed = !all_codes(l, &l->targets[i], is_same);
}

static void count_targets(struct pyusdt_looker *l, double at)
{
    for (uint32_t i = 0; i < l->ntargets; i++) {
        struct target *target = &l->targets[i];
        const uint64_t *frames;
        size_t n;

        if (!target->walked || target->handed)
            continue;
        frames = frames_of(l, target, &n);
        target->handed =
            pyusdt_stack_counts_add(&l->counts, target->known, flags_at(l, target) & MARKS, frames,
                                    n, l->options.lines, at) != 0;
    }
}

/* ---- a look ---- */

static double now_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int read_and_count(struct pyusdt_looker *l)
{
    double at;
    int r;

    l->nwords = 0;
    for (uint32_t i = 0; i < l->ntargets; i++)
        l->targets[i].wanted = is_wanted(l, i);
    choose_stops(l);
    r = read_targets(l);
    at = now_seconds();
    if (r)
        return r;
    for (uint32_t i = 0; i < l->ntargets; i++)
        l->targets[i].walked = is_counted(l, &l->targets[i]);
    check_codes(l);
    if (!pyusdt_memory_is_same_process(&l->memory))
        return -ESRCH;
    count_targets(l, at);
    r = hand_over(l);
    return r == PYUSDT_LOOK_DONE && pyusdt_stack_counts_is_full(&l->counts) ? PYUSDT_LOOK_STACKS
                                                                            : r;
}

int pyusdt_look(struct pyusdt_looker *l, bool go_on, const uint64_t **words, size_t *n)
{
    bool ended = read_letters(l);
    int r;

    l->nwords = l->nstopped = 0;
    r = list_targets(l);
    if (r == 0 && !go_on && (ended || l->nwords))
        r = PYUSDT_LOOK_THREADS;
    else if (r == 0)
        r = read_and_count(l);
    *words = l->words;
    *n = l->nwords;
    return r;
}

const char *pyusdt_looker_letters(const struct pyusdt_looker *l, size_t *n)
{
    *n = l->options.threads ? l->nthreads : 0;
    return l->letters;
}

size_t pyusdt_looker_stopped(const struct pyusdt_looker *l, pid_t *tids, size_t most)
{
    size_t n = l->nstopped < most ? l->nstopped : most;

    for (size_t i = 0; i < n; i++)
        tids[i] = l->stopped[i].tid;
    return n;
}

struct pyusdt_identities *pyusdt_looker_identities(struct pyusdt_looker *l)
{
    return l->ids;
}

struct pyusdt_stack_counts *pyusdt_looker_counts(struct pyusdt_looker *l)
{
    return &l->counts;
}

/* ---- making one ---- */

int pyusdt_looker_set_threads(struct pyusdt_looker *l, const struct pyusdt_look_thread *threads,
                              size_t n)
{
    struct pyusdt_look_thread *copy = malloc((n + 1) * sizeof *copy);
    pid_t *tids = malloc((n + 1) * sizeof *tids);
    char *letters = calloc(n + 1, 1);

    if (!copy || !tids || !letters) {
        free(copy);
        free(tids);
        free(letters);
        return -ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = threads[i];
        tids[i] = threads[i].tid;
    }
    free(l->threads);
    free(l->tids);
    free(l->letters);
    l->threads = copy;
    l->tids = tids;
    l->letters = letters;
    l->nthreads = n;
    return 0;
}

struct pyusdt_looker *pyusdt_looker_new(const struct pyusdt_memory *memory,
                                        const struct pyusdt_python_layout *layout,
                                        struct pyusdt_walker *walker,
                                        struct pyusdt_thread_states *states,
                                        const struct pyusdt_look_options *options)
{
    struct pyusdt_looker *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->memory = *memory;
    l->walker = walker;
    l->states = states;
    l->options = *options;
    l->ids = pyusdt_identities_new(memory, layout);
    if (l->ids && pyusdt_stack_counts_open(&l->counts) == 0 &&
        pyusdt_looker_set_threads(l, NULL, 0) == 0)
        return l;
    pyusdt_looker_free(l);
    return NULL;
}

/* Late threads are asked to stop once more: so they are known to the holder, and go on. */
static void release_late(struct pyusdt_looker *l)
{
    l->nstopped = 0;
    for (size_t i = 0; i < l->nlate; i++)
        add_stop(l, l->late[i]);
    if (l->nstopped)
        pyusdt_stop_threads(&l->memory, l->options.is_child, l->stopped, l->nstopped);
    if (l->nstopped)
        pyusdt_resume_threads(l->stopped, l->nstopped);
}

void pyusdt_looker_free(struct pyusdt_looker *l)
{
    if (!l)
        return;
    release_late(l);
    pyusdt_identities_free(l->ids);
    pyusdt_stack_counts_close(&l->counts);
    free(l->threads);
    free(l->tids);
    free(l->letters);
    free(l->words);
    free(l);
}
