/* See probe_ids.h. */
#include "consumer/probe_ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/state_block.h"

enum { AT_PLACES = 1 << 20 };     /* ids of one target: more it does not get, whatever it says */
enum { ALL_AT_PLACES = 1 << 22 }; /* of all targets of a host */

/* The ids of one probe at its places, by their numbers; 0: none yet. */
struct place_ids {
    uint32_t *id;
    uint32_t room;
};

/* Those that it had when it was met are in a row; what came later has a list. */
struct pyusdt_target_ids {
    uint32_t before, count; /* the id before the first; how many in a row */
    uint32_t *later;
    uint32_t nlater;
    struct place_ids *at;  /* by probe */
    uint32_t nat, nplaces; /* how many of these; how many ids there are in them */
};

_Static_assert(PYUSDT_CTL_ANCESTORS == PYUSDT_ANCESTORS, "a process says as many as clauses see");

/* --- targets ------------------------------------------------------------------------------------------ */

/* One probe of a target: its id, or -errno. */
static int64_t add_probe(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                         uint32_t target, uint32_t index)
{
    struct pyusdt_probe_info probe;
    int code = feed->kind->probe(feed->of, target, index, &probe);
    if (code)
        return code;
    struct pyusdt_probe_names names = {probe.provider, probe.module, probe.function, probe.name};
    return pyusdt_registry_add(ids->registry, &names);
}

/* The probes that a target has made since it was met. */
static int add_new_probes(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                          uint32_t target)
{
    struct pyusdt_target_ids *of = &ids->targets[target];
    struct pyusdt_target_info info;
    int code = feed->kind->target(feed->of, target, &info);
    if (code)
        return code;
    uint32_t *later = realloc(of->later, (info.nprobes - of->count + 1) * sizeof *later);
    if (!later)
        return -ENOMEM;
    of->later = later;
    while (of->count + of->nlater < info.nprobes) {
        int64_t id = add_probe(ids, feed, target, of->count + of->nlater);
        if (id < 0)
            return (int)id;
        of->later[of->nlater++] = (uint32_t)id;
    }
    return 0;
}

static void fill_process(struct pyusdt_process *process, const struct pyusdt_target_info *info,
                         uint32_t uses)
{
    *process = (struct pyusdt_process){
        .pid = info->pid, .uid = info->uid, .gid = info->gid, .host = info->host};
    if (info->ancestors[0] != 0) {
        memcpy(process->ancestors, info->ancestors, sizeof process->ancestors);
        process->ppid = process->ancestors[0];
    } else if (info->alive && info->visible) {
        if (uses & PYUSDT_USES_PPID)
            process->ppid = pyusdt_find_parent(process->pid);
        if (uses & PYUSDT_USES_ANCESTORS)
            pyusdt_find_ancestors(process);
    }
    memcpy(process->comm, info->comm, strnlen(info->comm, sizeof process->comm - 1));
}

static int add_target(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                      uint32_t target)
{
    struct pyusdt_target_info info;
    int code = feed->kind->target(feed->of, target, &info);
    if (code)
        return code;
    fill_process(&ids->process[target], &info, ids->uses);
    ids->targets[target] = (struct pyusdt_target_ids){
        .before = pyusdt_registry_count(ids->registry), .count = info.nprobes};
    for (uint32_t i = 0; i < info.nprobes; i++) {
        int64_t id = add_probe(ids, feed, target, i);
        if (id < 0)
            return (int)id;
    }
    return 0;
}

int pyusdt_ids_add_targets(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed)
{
    uint32_t n = feed->kind->targets(feed->of);
    if (n <= ids->ntargets)
        return 0;
    struct pyusdt_target_ids *targets = realloc(ids->targets, n * sizeof *targets);
    if (!targets)
        return -ENOMEM;
    ids->targets = targets;
    struct pyusdt_process *process = realloc(ids->process, n * sizeof *process);
    if (!process)
        return -ENOMEM;
    ids->process = process;
    while (ids->ntargets < n) {
        int code = add_target(ids, feed, ids->ntargets);
        if (code)
            return code;
        ids->ntargets++;
    }
    return 0;
}

/* --- probes --------------------------------------------------------------------------------------------- */

static uint32_t find_id(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                        uint32_t target, uint32_t probe)
{
    if (target >= ids->ntargets && pyusdt_ids_add_targets(ids, feed) != 0)
        return 0;
    const struct pyusdt_target_ids *of = &ids->targets[target];
    if (probe < of->count)
        return of->before + probe + 1;
    if (probe - of->count >= of->nlater && add_new_probes(ids, feed, target) != 0)
        return 0;
    return probe - of->count < of->nlater ? of->later[probe - of->count] : 0;
}

/* How many the targets of a host have; NULL: there is no memory. */
static uint32_t *host_place_count(struct pyusdt_ids *ids, uint32_t host)
{
    if (host >= ids->nhosts) {
        uint32_t *more = realloc(ids->nplaces, (host + 1) * sizeof *more);
        if (!more)
            return NULL;
        memset(more + ids->nhosts, 0, (host + 1 - ids->nhosts) * sizeof *more);
        ids->nplaces = more;
        ids->nhosts = host + 1;
    }
    return &ids->nplaces[host];
}

/* Where the id is kept; NULL: there is no memory, or the target, or its host, has too many. */
static uint32_t *place_id_slot(struct pyusdt_ids *ids, uint32_t target, uint32_t probe,
                               uint32_t place)
{
    uint32_t *all = host_place_count(ids, ids->process[target].host);
    struct pyusdt_target_ids *of = &ids->targets[target];
    if (probe >= of->nat) {
        struct place_ids *at = realloc(of->at, (probe + 1) * sizeof *at);
        if (!at)
            return NULL;
        memset(at + of->nat, 0, (probe + 1 - of->nat) * sizeof *at);
        of->at = at;
        of->nat = probe + 1;
    }
    struct place_ids *its = &of->at[probe];
    if (place >= its->room) {
        uint32_t room = its->room ? its->room : 64;
        while (room <= place)
            room *= 2;
        if (!all || of->nplaces + room - its->room > AT_PLACES ||
            *all + room - its->room > ALL_AT_PLACES)
            return NULL;
        uint32_t *id = realloc(its->id, room * sizeof *id);
        if (!id)
            return NULL;
        memset(id + its->room, 0, (room - its->room) * sizeof *id);
        of->nplaces += room - its->room;
        *all += room - its->room;
        *its = (struct place_ids){id, room};
    }
    return &its->id[place];
}

/* The probe at a place is a probe of its own to the clauses: with an id, from its first event on. */
static uint32_t find_id_at_place(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                                 uint32_t target, uint32_t probe, uint32_t place)
{
    struct pyusdt_probe_info info;
    struct pyusdt_place_info at;
    uint32_t *kept;

    if (find_id(ids, feed, target, probe) == 0 ||
        !(kept = place_id_slot(ids, target, probe, place)))
        return 0;
    if (*kept == 0 && feed->kind->probe(feed->of, target, probe, &info) == 0 &&
        feed->kind->place(feed->of, target, place, &at) == 0) {
        struct pyusdt_probe_names names = {info.provider, at.module, at.function, info.name};
        int64_t id = pyusdt_registry_add(ids->registry, &names);
        *kept = id > 0 ? (uint32_t)id : 0;
    }
    return *kept;
}

uint32_t pyusdt_ids_find_or_add(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                                uint32_t target, uint32_t probe, uint32_t place)
{
    return place == 0 ? find_id(ids, feed, target, probe)
                      : find_id_at_place(ids, feed, target, probe, place);
}

bool pyusdt_ids_has(const struct pyusdt_ids *ids, uint32_t target, uint32_t probe, uint32_t place)
{
    if (target >= ids->ntargets)
        return false;
    const struct pyusdt_target_ids *of = &ids->targets[target];
    if (probe >= of->count + of->nlater)
        return false;
    return place == 0 ||
           (probe < of->nat && place < of->at[probe].room && of->at[probe].id[place] != 0);
}

void pyusdt_ids_free(struct pyusdt_ids *ids)
{
    for (uint32_t i = 0; i < ids->ntargets; i++) {
        for (uint32_t probe = 0; probe < ids->targets[i].nat; probe++)
            free(ids->targets[i].at[probe].id);
        free(ids->targets[i].at);
        free(ids->targets[i].later);
    }
    free(ids->targets);
    free(ids->process);
    free(ids->nplaces);
}
