/* See merged_replay.h. */
#include "recording/merged_replay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMELESS UINT32_MAX

struct source {
    struct pyusdt_replay *replay;
    int64_t shift;
    uint64_t last;
    uint32_t host;
    uint32_t *number; /* of its targets, here */
    uint32_t nnumbers;
};

struct pyusdt_merged {
    struct source *sources;
    uint32_t nsources, chosen;
    struct origin {
        uint32_t source, target;
        uint32_t named; /* its number in words of frames, or NAMELESS */
    } *targets;
    uint32_t ntargets;
    uint32_t *named; /* the targets that have such a number, by that */
    uint32_t nnamed, share;
    uint32_t *taken; /* by host: how many of its targets have one */
    uint32_t nhosts;
    pyusdt_event_fn *fn; /* of the poll that goes on */
    void *arg;
    int failed;
};

/* Room for one more in a list whose length is a power of two when it is full. */
static bool make_room(void **list, uint32_t n, size_t each)
{
    void *more;

    if ((n & (n - 1)) != 0)
        return true;
    more = realloc(*list, (n ? 2 * (size_t)n : 1) * each);
    if (more)
        *list = more;
    return more != NULL;
}

int pyusdt_merged_new(uint32_t share, struct pyusdt_merged **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return -ENOMEM;
    (*out)->share = share;
    return 0;
}

void pyusdt_merged_free(struct pyusdt_merged *merged)
{
    if (!merged)
        return;
    for (uint32_t i = 0; i < merged->nsources; i++) {
        pyusdt_replay_close(merged->sources[i].replay);
        free(merged->sources[i].number);
    }
    free(merged->sources);
    free(merged->targets);
    free(merged->named);
    free(merged->taken);
    free(merged);
}

int pyusdt_merged_add(struct pyusdt_merged *merged, uint32_t host)
{
    struct source made = {.host = host};

    if (host >= merged->nhosts) {
        uint32_t *more = realloc(merged->taken, (host + 1) * sizeof *more);
        if (!more)
            return -ENOMEM;
        memset(more + merged->nhosts, 0, (host + 1 - merged->nhosts) * sizeof *more);
        merged->taken = more;
        merged->nhosts = host + 1;
    }
    if (!make_room((void **)&merged->sources, merged->nsources, sizeof *merged->sources) ||
        pyusdt_replay_stream(&made.replay) != 0)
        return -ENOMEM;
    merged->sources[merged->nsources] = made;
    return (int)merged->nsources++;
}

int pyusdt_merged_put(struct pyusdt_merged *merged, uint32_t source, const void *data, size_t size,
                      int64_t shift)
{
    merged->sources[source].shift = shift;
    return pyusdt_replay_put(merged->sources[source].replay, data, size);
}

size_t pyusdt_merged_unread(const struct pyusdt_merged *merged, uint32_t source)
{
    return pyusdt_replay_unread(merged->sources[source].replay);
}

uint64_t pyusdt_merged_memory(const struct pyusdt_merged *merged, uint32_t source)
{
    return pyusdt_replay_memory(merged->sources[source].replay);
}

void pyusdt_merged_finish(struct pyusdt_merged *merged, uint32_t source)
{
    pyusdt_replay_finish(merged->sources[source].replay);
}

/* No overflow makes an old event a new one: a false time gives an event at an end of all time. */
static uint64_t shifted(uint64_t time, int64_t by)
{
    if (by < 0)
        return time < (uint64_t)-by ? 0 : time - (uint64_t)-by;
    return time > UINT64_MAX - (uint64_t)by ? UINT64_MAX : time + (uint64_t)by;
}

static uint64_t time_here(const struct source *source, uint64_t time)
{
    uint64_t here = shifted(time, source->shift);

    return here > source->last ? here : source->last;
}

bool pyusdt_merged_next(struct pyusdt_merged *merged, uint32_t source, uint64_t *time)
{
    if (!pyusdt_replay_next(merged->sources[source].replay, time))
        return false;
    *time = time_here(&merged->sources[source], *time);
    return true;
}

const char *pyusdt_merged_damage(const struct pyusdt_merged *merged, uint32_t source)
{
    return pyusdt_replay_damage(merged->sources[source].replay);
}

void pyusdt_merged_select(struct pyusdt_merged *merged, uint32_t source)
{
    merged->chosen = source;
}

uint32_t pyusdt_merged_main_target(const struct pyusdt_merged *merged, uint32_t source)
{
    return pyusdt_replay_header(merged->sources[source].replay)->target;
}

uint64_t pyusdt_merged_last(const struct pyusdt_merged *merged, uint32_t source)
{
    return merged->sources[source].last;
}

/* ---- as a feed ---- */

/* Numbers for its targets up to that one, which was met. */
static bool number_targets(struct pyusdt_merged *merged, struct source *source, uint32_t target)
{
    while (source->nnumbers <= target) {
        if (!make_room((void **)&source->number, source->nnumbers, sizeof *source->number) ||
            !make_room((void **)&merged->targets, merged->ntargets, sizeof *merged->targets) ||
            !make_room((void **)&merged->named, merged->nnamed, sizeof *merged->named))
            return false;
        bool has_name =
            merged->taken[source->host] < merged->share && merged->nnamed < PYUSDT_FRAME_TARGETS;
        merged->targets[merged->ntargets] =
            (struct origin){merged->chosen, source->nnumbers, has_name ? merged->nnamed : NAMELESS};
        if (has_name) {
            merged->taken[source->host]++;
            merged->named[merged->nnamed++] = merged->ntargets;
        }
        source->number[source->nnumbers++] = merged->ntargets++;
    }
    return true;
}

static int on_event(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_merged *merged = arg;
    struct source *source = &merged->sources[merged->chosen];
    struct pyusdt_event here = *event;

    if (!number_targets(merged, source, event->target)) {
        merged->failed = -ENOMEM;
        return 1;
    }
    here.target = source->number[event->target];
    here.time = source->last = time_here(source, event->time);
    return merged->fn(merged->arg, &here);
}

/* Those of the chosen one. */
static int poll(void *of, uint64_t until_ns, int max_events, pyusdt_event_fn *fn, void *arg)
{
    struct pyusdt_merged *merged = of;
    const struct source *source = &merged->sources[merged->chosen];

    if (source->last > until_ns)
        return 0;
    merged->fn = fn;
    merged->arg = arg;
    merged->failed = 0;
    uint64_t there =
        source->shift >= 0
            ? (until_ns < (uint64_t)source->shift ? 0 : until_ns - (uint64_t)source->shift)
            : shifted(until_ns, -source->shift);
    int n = pyusdt_replay_source_ops.poll(source->replay, there, max_events, on_event, merged);
    return merged->failed ? merged->failed : n;
}

static int target_info(const void *of, uint32_t target, struct pyusdt_target_info *info)
{
    const struct pyusdt_merged *merged = of;

    if (target >= merged->ntargets)
        return -ENOENT;
    const struct source *source = &merged->sources[merged->targets[target].source];
    int code =
        pyusdt_replay_source_ops.target(source->replay, merged->targets[target].target, info);
    info->host = source->host;
    info->visible = 0;
    return code;
}

static int probe_info(const void *of, uint32_t target, uint32_t probe,
                      struct pyusdt_probe_info *info)
{
    const struct pyusdt_merged *merged = of;

    if (target >= merged->ntargets)
        return -ENOENT;
    const struct origin *origin = &merged->targets[target];
    return pyusdt_replay_source_ops.probe(merged->sources[origin->source].replay, origin->target,
                                          probe, info);
}

static int place_info(const void *of, uint32_t target, uint32_t place,
                      struct pyusdt_place_info *info)
{
    const struct pyusdt_merged *merged = of;

    if (target >= merged->ntargets)
        return -ENOENT;
    const struct origin *origin = &merged->targets[target];
    return pyusdt_replay_source_ops.place(merged->sources[origin->source].replay, origin->target,
                                          place, info);
}

static uint32_t targets(const void *of)
{
    return ((const struct pyusdt_merged *)of)->ntargets;
}

static uint32_t named(const void *of, uint32_t target)
{
    const struct pyusdt_merged *merged = of;

    return target < merged->ntargets ? merged->targets[target].named : NAMELESS;
}

uint32_t pyusdt_merged_target(const struct pyusdt_merged *merged, uint32_t named)
{
    return named < merged->nnamed ? merged->named[named] : NAMELESS;
}

const struct pyusdt_event_source_ops pyusdt_merged_source_ops = {
    poll, target_info, probe_info, place_info, targets, NULL, named};
