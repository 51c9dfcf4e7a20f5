/*
 * Decides which sessions want a probe at a code location, by the patterns of their descriptions for
 * module and function.
 *
 * - In doubt a session wants the location, because its tracer compares again. Doubt means: no
 *   memory for patterns, no lock, or a session that cannot be served (its drops are counted).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "target/target.h"
#include "target/spare_stack.h"

#define PATTERNS_START 64u
#define PATTERNS_MAX 65536u /* of one session: 17 MB */

static bool grow_patterns(struct pyusdt_patterns *patterns)
{
    uint32_t room = patterns->room ? 2 * patterns->room : PATTERNS_START;
    struct pyusdt_pattern *old = patterns->pattern, *larger;

    if (room > PATTERNS_MAX)
        return false;
    larger = mmap(NULL, room * sizeof *larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    if (larger == MAP_FAILED)
        return false;
    if (old)
        memcpy(larger, old, patterns->n * sizeof *larger);
    /* A fork may happen between any two of these; the child finds valid memory. */
    __atomic_store_n(&patterns->pattern, larger, __ATOMIC_RELEASE);
    __atomic_store_n(&patterns->room, room, __ATOMIC_RELEASE);
    if (old)
        munmap(old, room / 2 * sizeof *old);
    return true;
}

void pyusdt_patterns_add(struct pyusdt_patterns *patterns, uint32_t probe,
                         const struct pyusdt_want *want)
{
    struct pyusdt_pattern *pattern;

    if (patterns->n == patterns->room && !grow_patterns(patterns)) {
        patterns->all = true;
        return;
    }
    pattern = &patterns->pattern[patterns->n++];
    pattern->probe = probe;
    pattern->counts = want->counts != 0;
    pattern->args = want->args;
    memcpy(pattern->module, want->module, sizeof pattern->module);
    memcpy(pattern->function, want->function, sizeof pattern->function);
}

static bool matches_place(const struct pyusdt_patterns *patterns, uint32_t probe,
                          const char *module, const char *function)
{
    for (uint32_t i = 0; i < patterns->n; i++) {
        const struct pyusdt_pattern *pattern = &patterns->pattern[i];
        if (pattern->probe == probe && pyusdt_glob(pattern->module, module) &&
            pyusdt_glob(pattern->function, function))
            return true;
    }
    return patterns->all;
}

/* Whether how often it fires there is all that is wanted. In doubt not: an event is right for
 * everybody. */
bool pyusdt_patterns_count(const struct pyusdt_patterns *patterns, uint32_t probe,
                           const char *module, const char *function)
{
    bool any = false;

    for (uint32_t i = 0; i < patterns->n; i++) {
        const struct pyusdt_pattern *pattern = &patterns->pattern[i];
        if (pattern->probe != probe || !pyusdt_glob(pattern->module, module) ||
            !pyusdt_glob(pattern->function, function))
            continue;
        if (!pattern->counts)
            return false;
        any = true;
    }
    return any && !patterns->all;
}

/* The sessions among these that want it, or are not served. Under the lock. */
static uint64_t find_sessions(uint64_t sessions, uint32_t probe, const char *module,
                              const char *function)
{
    uint64_t wanted = 0;

    for (uint64_t word = sessions; word != 0; word &= word - 1) {
        unsigned number = (unsigned)__builtin_ctzll(word);
        const struct pyusdt_slot *slot = &pyusdt_core.slot[number];
        uint64_t generation = atomic_load(&pyusdt_ctl_slot(number)->wanted);
        if (generation != 0 && (generation != atomic_load(&slot->generation) ||
                                matches_place(&slot->patterns, probe, module, function)))
            wanted |= 1ull << number;
    }
    return wanted;
}

struct lookup {
    unsigned probe;
    const char *module, *function;
    uint64_t sessions;
};

static void look_up_locked(void *arg)
{
    char module[PYUSDT_PLACE_MODULE + 1], function[PYUSDT_PLACE_FUNCTION + 1];
    struct lookup *lookup = arg;

    pyusdt_copy_truncated(module, sizeof module, lookup->module);
    pyusdt_copy_truncated(function, sizeof function, lookup->function);
    lookup->sessions = find_sessions(lookup->sessions, lookup->probe, module, function);
}

uint64_t pyusdt_place_wanted(unsigned probe, const char *module, const char *function)
{
    struct lookup lookup = {probe, module, function, 0};

    if (pyusdt_demand_at(probe, ~0ull) == 0) /* sessions that are new are served now */
        return 0;
    lookup.sessions = atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire);
    pyusdt_spare_stack_call_locked(true, look_up_locked, &lookup);
    return pyusdt_core.flight ? lookup.sessions | 1ull << PYUSDT_FLIGHT_SLOT : lookup.sessions;
}

static bool is_one_name(const char *pattern)
{
    return pattern[0] != '\0' && pattern[strcspn(pattern, "*?[\\")] == '\0';
}

uint32_t pyusdt_place_arguments(unsigned probe, unsigned session, const char *module,
                                const char *function, uint32_t *named)
{
    const struct pyusdt_patterns *patterns = &pyusdt_core.slot[session].patterns;
    uint32_t args = 0;

    *named = 0;
    if (!pyusdt_core_lock(true))
        return 0;
    for (uint32_t i = 0; i < patterns->n; i++) {
        const struct pyusdt_pattern *pattern = &patterns->pattern[i];

        if (pattern->probe != probe || !pyusdt_glob(pattern->module, module) ||
            !pyusdt_glob(pattern->function, function))
            continue;
        args |= pattern->args;
        if (is_one_name(pattern->function))
            *named |= pattern->args;
    }
    pyusdt_core_unlock();
    return args;
}

/* ---- a name that was probably intended ---- */

#define NEAR_MAX 40 /* characters of names that are compared */

static uint32_t smallest_of(uint32_t a, uint32_t b, uint32_t c)
{
    a = a < b ? a : b;
    return a < c ? a : c;
}

/* How many characters are to be inserted, removed or changed, or exchanged with the next one
 * (Damerau and Levenshtein's distance of optimal string alignment). Of names of NEAR_MAX
 * characters at most. */
static uint32_t edit_distance(const char *one, uint32_t n, const char *other, uint32_t m)
{
    uint32_t rows[3][NEAR_MAX + 1];

    for (uint32_t k = 0; k <= m; k++)
        rows[0][k] = k;
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t *row = rows[i % 3], *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];
        row[0] = i;
        for (uint32_t k = 1; k <= m; k++) {
            row[k] = smallest_of(before[k] + 1, row[k - 1] + 1,
                                 before[k - 1] + (one[i - 1] != other[k - 1]));
            bool exchanges =
                i > 1 && k > 1 && one[i - 1] == other[k - 2] && one[i - 2] == other[k - 1];
            if (exchanges && two_before[k - 2] + 1 < row[k])
                row[k] = two_before[k - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

bool pyusdt_is_near_name(const char *asked, const char *name)
{
    size_t n = strlen(asked), m = strlen(name);

    return n >= 3 && n <= NEAR_MAX && m <= NEAR_MAX && n <= m + 2 && m <= n + 2 &&
           edit_distance(asked, (uint32_t)n, name, (uint32_t)m) <= (n < 5 ? 1u : 2u);
}

/* Whether the name differs from the requested one, but was probably intended: nearly the same, or the
 * same within a class. */
static bool is_near(const char *asked, const char *name)
{
    const char *dot = strrchr(name, '.');

    if (!is_one_name(asked) || strcmp(asked, name) == 0)
        return false;
    return pyusdt_is_near_name(asked, dot && !strchr(asked, '.') ? dot + 1 : name);
}

bool pyusdt_place_is_near(unsigned probe, const char *module, const char *function, char *asked,
                          size_t size)
{
    bool found = false;

    if (!pyusdt_core_lock(true))
        return false;
    for (uint64_t word = atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire);
         word != 0; word &= word - 1) {
        const struct pyusdt_patterns *patterns = &pyusdt_core.slot[__builtin_ctzll(word)].patterns;
        for (uint32_t i = 0; i < patterns->n && !found; i++) {
            const struct pyusdt_pattern *pattern = &patterns->pattern[i];
            found =
                pattern->probe == probe &&
                ((pyusdt_glob(pattern->module, module) && is_near(pattern->function, function)) ||
                 (pyusdt_glob(pattern->function, function) && is_near(pattern->module, module)));
            if (found)
                snprintf(asked, size, "%s:%s", pattern->module, pattern->function);
        }
    }
    pyusdt_core_unlock();
    return found;
}

bool pyusdt_place_pattern(unsigned probe, unsigned n, char module[PYUSDT_PLACE_MODULE + 1],
                          char function[PYUSDT_PLACE_FUNCTION + 1])
{
    bool found = false;

    if (!pyusdt_core_lock(true))
        return false;
    for (uint64_t word = atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire);
         word != 0 && !found; word &= word - 1) {
        const struct pyusdt_patterns *patterns = &pyusdt_core.slot[__builtin_ctzll(word)].patterns;
        for (uint32_t i = 0; i < patterns->n && !found; i++) {
            const struct pyusdt_pattern *pattern = &patterns->pattern[i];
            found = pattern->probe == probe && n-- == 0;
            if (found) {
                pyusdt_copy_truncated(module, PYUSDT_PLACE_MODULE + 1, pattern->module);
                pyusdt_copy_truncated(function, PYUSDT_PLACE_FUNCTION + 1, pattern->function);
            }
        }
    }
    pyusdt_core_unlock();
    return found;
}
