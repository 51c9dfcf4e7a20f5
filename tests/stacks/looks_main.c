/* Looks at a process that exists in a model alone: which threads are read, stopped and counted.  Everything below stack_looks.h is
 * made up here: threads whose stacks move or hold still, and stops that come late.  Prints nothing; a failed check ends it. */
#include "pystack/stack_looks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pystack/ptrace_stop.h"

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "line %d: %s\n", __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

enum { THREADS = 3, WORDS = 1024 };

/* code 0: its stack has no frame. */
static struct {
    char letter;
    uint64_t code, interpreter;
    bool moves; /* goes on while it is read */
    int result; /* of a request to stop it */
    int reads;  /* of its stack, and how many of them while it stood */
    int standing;
    bool stands;
} threads[THREADS];
static int resumed;
static bool replaced, ended; /* the code objects; the process */

static uint64_t words[WORDS];
static size_t nwords;

/* ---- the process ---- */

int64_t pyusdt_memory_read_parts(const struct pyusdt_memory *memory,
                                 const struct pyusdt_memory_part *parts, size_t n)
{
    int64_t got = 0;

    (void)memory;
    for (size_t i = 0; i < n; i++) {
        memset(parts[i].to, replaced ? 2 : 1, parts[i].size);
        got += (int64_t)parts[i].size;
    }
    return got;
}

void pyusdt_memory_read_each(const struct pyusdt_memory *memory,
                             const struct pyusdt_memory_part *parts, size_t n, bool *read)
{
    pyusdt_memory_read_parts(memory, parts, n);
    memset(read, 1, n);
}

bool pyusdt_memory_is_same_process(const struct pyusdt_memory *memory)
{
    (void)memory;
    return !ended;
}

void pyusdt_thread_states_read(struct pyusdt_thread_states *states, const pid_t *tids, size_t n,
                               char *letters)
{
    (void)states;
    for (size_t i = 0; i < n; i++)
        letters[i] = threads[tids[i] - 1].letter;
}

/* ---- the walk ---- */

int pyusdt_walk_list(struct pyusdt_walker *walker)
{
    (void)walker;
    nwords = 0;
    return 0;
}

uint32_t pyusdt_walker_threads(const struct pyusdt_walker *walker)
{
    (void)walker;
    return THREADS;
}

void pyusdt_walk_head(const struct pyusdt_walker *walker, uint32_t i, struct pyusdt_walked *head)
{
    (void)walker;
    *head = (struct pyusdt_walked){.thread = i + 1, .interpreter = threads[i].interpreter};
}

static uint64_t flags_of(uint32_t i)
{
    return threads[i].moves && !threads[i].stands ? PYUSDT_STACK_MOVED : 0;
}

uint32_t pyusdt_walk_flags(struct pyusdt_walker *walker, uint32_t i)
{
    (void)walker;
    return (uint32_t)flags_of(i);
}

bool pyusdt_walk_has_gil(struct pyusdt_walker *walker, uint32_t i)
{
    (void)walker;
    return i == 0;
}

int pyusdt_walk_thread(struct pyusdt_walker *walker, uint32_t i, uint32_t tries, size_t *at)
{
    struct pyusdt_walked head;

    (void)tries;
    *at = nwords;
    pyusdt_walk_head(walker, i, &head);
    head.flags = flags_of(i);
    head.frames = threads[i].code != 0;
    memcpy(words + nwords, &head, sizeof head);
    nwords += sizeof head / sizeof *words;
    if (threads[i].code) {
        words[nwords++] = threads[i].code;
        words[nwords++] = 7;
    }
    threads[i].reads++;
    threads[i].standing += threads[i].stands;
    return 0;
}

const uint64_t *pyusdt_walker_words(const struct pyusdt_walker *walker, size_t *n)
{
    (void)walker;
    *n = nwords;
    return words;
}

/* ---- stops ---- */

int pyusdt_stop_threads(const struct pyusdt_memory *memory, bool is_child,
                        struct pyusdt_stopped *stopped, size_t n)
{
    (void)memory;
    (void)is_child;
    for (size_t i = 0; i < n; i++) {
        stopped[i].result = threads[stopped[i].tid - 1].result;
        threads[stopped[i].tid - 1].stands = stopped[i].result > 0;
    }
    return 0;
}

void pyusdt_resume_threads(struct pyusdt_stopped *stopped, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        threads[stopped[i].tid - 1].stands = false;
        stopped[i].result = 1;
        resumed++;
    }
}

/* ---- the checks ---- */

static void begin(void)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        memset(&threads[i], 0, sizeof threads[i]);
        threads[i].letter = 'R';
        threads[i].code = 64 * (i + 1);
        threads[i].result = 17;
    }
    resumed = 0;
    replaced = ended = false;
}

static struct pyusdt_looker *make_looker(int which, bool stop)
{
    static const struct pyusdt_memory memory = {1, -1};
    struct pyusdt_look_thread known[THREADS] = {{1, 0, 0, 1}, {2, 0, 0, 2}, {3, 0, 0, 3}};
    struct pyusdt_look_options options = {
        .which = which, .threads = true, .stop = stop, .lines = true, .counts = true, .tries = 8};
    struct pyusdt_python_layout layout;
    struct pyusdt_looker *looker;

    CHECK(pyusdt_python_layout(11, &layout) == 0);
    looker = pyusdt_looker_new(&memory, &layout, NULL, NULL, &options);
    CHECK(looker && pyusdt_looker_set_threads(looker, known, THREADS) == 0);
    return looker;
}

static void confirm_all(struct pyusdt_looker *looker)
{
    struct pyusdt_identities *ids = pyusdt_looker_identities(looker);

    for (uint64_t code = 64; code <= 64 * THREADS; code += 64) {
        struct pyusdt_code_identity identity;

        CHECK(pyusdt_identities_read(ids, &code, 1, &identity) == 0 && identity.size);
        CHECK(pyusdt_identities_confirm(ids, code, identity.bytes, identity.size) == 0);
    }
}

static int look(struct pyusdt_looker *looker, size_t *n)
{
    const uint64_t *unused;

    return pyusdt_look(looker, false, &unused, n);
}

static uint32_t counted(struct pyusdt_looker *looker)
{
    uint32_t n = pyusdt_looker_counts(looker)->nsamples;

    pyusdt_looker_counts(looker)->nsamples = 0;
    return n;
}

static const size_t HEAD = sizeof(struct pyusdt_walked) / sizeof(uint64_t);

/* Code that is not known, or was replaced, is the caller's; known code is counted. */
static void check_codes(void)
{
    struct pyusdt_looker *looker = make_looker(PYUSDT_LOOK_RUNNING, false);
    size_t n;

    CHECK(look(looker, &n) == PYUSDT_LOOK_STACKS && n == THREADS * (HEAD + 2));
    CHECK(counted(looker) == 0);
    confirm_all(looker);
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && n == 0);
    CHECK(counted(looker) == THREADS && pyusdt_looker_counts(looker)->nstacks == THREADS);
    replaced = true;
    CHECK(look(looker, &n) == PYUSDT_LOOK_STACKS && counted(looker) == 0);
    replaced = false;
    pyusdt_identities_forget(pyusdt_looker_identities(looker), 64);
    CHECK(look(looker, &n) == PYUSDT_LOOK_STACKS && n == HEAD + 2 &&
          counted(looker) == THREADS - 1);
    ended = true;
    CHECK(look(looker, &n) == -ESRCH && counted(looker) == 0);
    pyusdt_looker_free(looker);
}

/* Who counts. */
static void check_states(void)
{
    struct pyusdt_looker *looker = make_looker(PYUSDT_LOOK_RUNNING, false);
    size_t n;

    confirm_all(looker);
    threads[1].letter = 'S';
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && counted(looker) == 2 && threads[1].reads == 0);
    threads[1].letter = 0; /* it has ended */
    CHECK(look(looker, &n) == PYUSDT_LOOK_THREADS && counted(looker) == 0);
    pyusdt_looker_free(looker);
    threads[1].letter = 'S';
    looker = make_looker(PYUSDT_LOOK_GIL, false);
    confirm_all(looker);
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && counted(looker) == 1);
    pyusdt_looker_free(looker);
    looker = make_looker(PYUSDT_LOOK_ALL, false);
    confirm_all(looker);
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && counted(looker) == THREADS);
    threads[2].interpreter = 5; /* of several interpreters the caller merges stacks */
    CHECK(look(looker, &n) == PYUSDT_LOOK_STACKS && counted(looker) == 0);
    pyusdt_looker_free(looker);
}

/* Only what moves is stopped, and its sample is of the time in which it stood. */
static void check_stops(void)
{
    struct pyusdt_looker *looker = make_looker(PYUSDT_LOOK_RUNNING, true);
    pid_t tids[THREADS];
    size_t n;

    confirm_all(looker);
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && counted(looker) == THREADS && resumed == 0);
    threads[2].moves = true;
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && counted(looker) == THREADS);
    CHECK(threads[2].standing == 1 && threads[0].standing == 0 && resumed == 1);
    CHECK(pyusdt_looker_stopped(looker, tids, THREADS) == 1 && tids[0] == 3);
    threads[2].result = -EPERM; /* it counts, though it moves */
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && counted(looker) == THREADS && resumed == 1);
    pyusdt_looker_free(looker);
}

/* One that stops late is let go by the next look, though nothing else is to be stopped, or at the end. */
static void check_late(void)
{
    struct pyusdt_looker *looker = make_looker(PYUSDT_LOOK_RUNNING, true);
    size_t n;

    confirm_all(looker);
    threads[0].moves = true;
    threads[0].result = -EAGAIN;
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && resumed == 0);
    threads[0].result = 17;
    threads[0].moves = false;
    threads[0].letter = 't';
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && resumed == 1 && threads[0].standing == 1);
    CHECK(counted(looker) == 2 * THREADS);
    threads[0].letter = 'S';
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && resumed == 1 && counted(looker) == THREADS - 1);
    threads[0].letter = 'R';
    threads[0].moves = true;
    threads[0].result = -EAGAIN;
    CHECK(look(looker, &n) == PYUSDT_LOOK_DONE && resumed == 1);
    pyusdt_looker_free(looker);
    CHECK(resumed == 2);
}

int main(void)
{
    begin();
    check_codes();
    begin();
    check_states();
    begin();
    check_stops();
    begin();
    check_late();
    return 0;
}
