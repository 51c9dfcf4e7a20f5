/* See probe_registry.h. */
#include "consumer/probe_registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../include/pyusdt.h"

enum { PROVIDER, MODULE, FUNCTION, NAME, PARTS };

struct description {
    uint32_t clause;
    char *glob[PARTS];
};

struct probe {
    uint32_t name[PARTS]; /* offsets in text */
    uint32_t clauses, n;  /* where its clauses begin in the pool, how many */
};

struct pyusdt_registry {
    struct description *descriptions;
    uint32_t ndescriptions, room_descriptions;
    struct probe *probes;
    uint32_t nprobes, room_probes;
    uint32_t *pool; /* clause lists, one behind the other */
    uint32_t npool, room_pool;
    char *text; /* the names, each once, NUL-terminated */
    uint32_t ntext, room_text;
    uint32_t *buckets; /* open addressing over text: offset + 1, 0 is free */
    uint32_t nbuckets, nstrings;
};

/* Room for `more` elements of `size` bytes behind the first n. */
static int grow(void *array, uint32_t *room, uint32_t n, uint32_t more, size_t size)
{
    if (n + more <= *room)
        return 0;
    uint32_t wanted = *room ? *room * 2 : 64;
    while (wanted < n + more)
        wanted *= 2;
    void *larger = realloc(*(void **)array, wanted * size);
    if (!larger)
        return -ENOMEM;
    *(void **)array = larger;
    *room = wanted;
    return 0;
}

struct pyusdt_registry *pyusdt_registry_new(void)
{
    return calloc(1, sizeof(struct pyusdt_registry));
}

void pyusdt_registry_free(struct pyusdt_registry *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->ndescriptions; i++)
        for (int part = 0; part < PARTS; part++)
            free(r->descriptions[i].glob[part]);
    free(r->descriptions);
    free(r->probes);
    free(r->pool);
    free(r->text);
    free(r->buckets);
    free(r);
}

int pyusdt_registry_describe(struct pyusdt_registry *r, uint32_t clause,
                             const struct pyusdt_probe_names *globs)
{
    if (grow(&r->descriptions, &r->room_descriptions, r->ndescriptions, 1, sizeof *r->descriptions))
        return -ENOMEM;
    struct description *d = &r->descriptions[r->ndescriptions++];
    const char *parts[PARTS] = {globs->provider, globs->module, globs->function, globs->name};
    bool whole = true;
    d->clause = clause;
    for (int part = 0; part < PARTS; part++)
        whole &= (d->glob[part] = strdup(parts[part])) != NULL;
    return whole ? 0 : -ENOMEM;
}

/* --- names, each kept once ----------------------------------------------------------------------- */

static uint32_t hash(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

static int rehash(struct pyusdt_registry *r)
{
    uint32_t n = r->nbuckets ? r->nbuckets * 2 : 256;
    uint32_t *buckets = calloc(n, sizeof *buckets);
    if (!buckets)
        return -ENOMEM;
    for (uint32_t i = 0; i < r->nbuckets; i++) {
        if (!r->buckets[i])
            continue;
        uint32_t at = hash(r->text + r->buckets[i] - 1) & (n - 1);
        while (buckets[at])
            at = (at + 1) & (n - 1);
        buckets[at] = r->buckets[i];
    }
    free(r->buckets);
    r->buckets = buckets;
    r->nbuckets = n;
    return 0;
}

static int intern(struct pyusdt_registry *r, const char *s, uint32_t *offset)
{
    if (r->nstrings * 2 >= r->nbuckets && rehash(r))
        return -ENOMEM;
    uint32_t at = hash(s) & (r->nbuckets - 1);
    for (; r->buckets[at]; at = (at + 1) & (r->nbuckets - 1)) {
        if (strcmp(r->text + r->buckets[at] - 1, s) == 0) {
            *offset = r->buckets[at] - 1;
            return 0;
        }
    }
    uint32_t size = (uint32_t)strlen(s) + 1;
    if (grow(&r->text, &r->room_text, r->ntext, size, 1))
        return -ENOMEM;
    memcpy(r->text + r->ntext, s, size);
    *offset = r->ntext;
    r->buckets[at] = r->ntext + 1;
    r->ntext += size;
    r->nstrings++;
    return 0;
}

/* --- probes ---------------------------------------------------------------------------------------- */

static bool matches(const struct description *d, const char *const parts[PARTS])
{
    for (int part = 0; part < PARTS; part++)
        if (!pyusdt_glob(d->glob[part], parts[part]))
            return false;
    return true;
}

/* The clauses of p, behind the pool; the pool keeps them only where the probe before has others. */
static int find_clauses(struct pyusdt_registry *r, struct probe *p, const char *const parts[PARTS])
{
    if (grow(&r->pool, &r->room_pool, r->npool, r->ndescriptions, sizeof *r->pool))
        return -ENOMEM;
    uint32_t n = 0, *list = r->pool + r->npool;
    for (uint32_t i = 0; i < r->ndescriptions; i++) {
        const struct description *d = &r->descriptions[i];
        bool known = n && list[n - 1] == d->clause; /* a clause's descriptions stand together */
        if (!known && matches(d, parts))
            list[n++] = d->clause;
    }
    p->n = n;
    const struct probe *before = r->nprobes ? &r->probes[r->nprobes - 1] : NULL;
    if (before && before->n == n &&
        memcmp(r->pool + before->clauses, list, n * sizeof *list) == 0) {
        p->clauses = before->clauses;
    } else {
        p->clauses = r->npool;
        r->npool += n;
    }
    return 0;
}

int64_t pyusdt_registry_add(struct pyusdt_registry *r, const struct pyusdt_probe_names *names)
{
    const char *parts[PARTS] = {names->provider, names->module, names->function, names->name};
    struct probe p;
    if (grow(&r->probes, &r->room_probes, r->nprobes, 1, sizeof *r->probes))
        return -ENOMEM;
    for (int part = 0; part < PARTS; part++)
        if (intern(r, parts[part], &p.name[part]))
            return -ENOMEM;
    if (find_clauses(r, &p, parts))
        return -ENOMEM;
    r->probes[r->nprobes++] = p;
    return r->nprobes;
}

uint32_t pyusdt_registry_count(const struct pyusdt_registry *r)
{
    return r->nprobes;
}

bool pyusdt_registry_names(const struct pyusdt_registry *r, uint32_t id,
                           struct pyusdt_probe_names *names)
{
    if (id == 0 || id > r->nprobes)
        return false;
    const uint32_t *name = r->probes[id - 1].name;
    *names = (struct pyusdt_probe_names){r->text + name[PROVIDER], r->text + name[MODULE],
                                         r->text + name[FUNCTION], r->text + name[NAME]};
    return true;
}

const uint32_t *pyusdt_registry_clauses(const struct pyusdt_registry *r, uint32_t id, uint32_t *n)
{
    if (id == 0 || id > r->nprobes) {
        *n = 0;
        return NULL;
    }
    *n = r->probes[id - 1].n;
    return r->pool + r->probes[id - 1].clauses;
}
