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

struct pyusdt_many {
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

int pyusdt_many_new(uint32_t share, struct pyusdt_many **out)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return -ENOMEM;
    (*out)->share = share;
    return 0;
}

void pyusdt_many_free(struct pyusdt_many *many)
{
    if (!many)
        return;
    for (uint32_t i = 0; i < many->nsources; i++) {
        pyusdt_replay_close(many->sources[i].replay);
        free(many->sources[i].number);
    }
    free(many->sources);
    free(many->targets);
    free(many->named);
    free(many->taken);
    free(many);
}

int pyusdt_many_add(struct pyusdt_many *many, uint32_t host)
{
    struct source made = {.host = host};

    if (host >= many->nhosts) {
        uint32_t *more = realloc(many->taken, (host + 1) * sizeof *more);
        if (!more)
            return -ENOMEM;
        memset(more + many->nhosts, 0, (host + 1 - many->nhosts) * sizeof *more);
        many->taken = more;
        many->nhosts = host + 1;
    }
    if (!make_room((void **)&many->sources, many->nsources, sizeof *many->sources) ||
        pyusdt_replay_stream(&made.replay) != 0)
        return -ENOMEM;
    many->sources[many->nsources] = made;
    return (int)many->nsources++;
}

int pyusdt_many_put(struct pyusdt_many *many, uint32_t source, const void *data, size_t size,
                    int64_t shift)
{
    many->sources[source].shift = shift;
    return pyusdt_replay_put(many->sources[source].replay, data, size);
}

size_t pyusdt_many_waits(const struct pyusdt_many *many, uint32_t source)
{
    return pyusdt_replay_waits(many->sources[source].replay);
}

uint64_t pyusdt_many_kept(const struct pyusdt_many *many, uint32_t source)
{
    return pyusdt_replay_kept(many->sources[source].replay);
}

void pyusdt_many_finish(struct pyusdt_many *many, uint32_t source)
{
    pyusdt_replay_finish(many->sources[source].replay);
}

/* No overflow makes an old event a new one: who lies about its time has one at an end of all time. */
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

bool pyusdt_many_next(struct pyusdt_many *many, uint32_t source, uint64_t *time)
{
    if (!pyusdt_replay_next(many->sources[source].replay, time))
        return false;
    *time = time_here(&many->sources[source], *time);
    return true;
}

const char *pyusdt_many_damage(const struct pyusdt_many *many, uint32_t source)
{
    return pyusdt_replay_damage(many->sources[source].replay);
}

void pyusdt_many_choose(struct pyusdt_many *many, uint32_t source)
{
    many->chosen = source;
}

uint32_t pyusdt_many_home(const struct pyusdt_many *many, uint32_t source)
{
    return pyusdt_replay_header(many->sources[source].replay)->target;
}

uint64_t pyusdt_many_last(const struct pyusdt_many *many, uint32_t source)
{
    return many->sources[source].last;
}

/* ---- as a feed ---- */

/* Numbers for its targets up to that one, which was met. */
static bool number_targets(struct pyusdt_many *many, struct source *source, uint32_t target)
{
    while (source->nnumbers <= target) {
        if (!make_room((void **)&source->number, source->nnumbers, sizeof *source->number) ||
            !make_room((void **)&many->targets, many->ntargets, sizeof *many->targets) ||
            !make_room((void **)&many->named, many->nnamed, sizeof *many->named))
            return false;
        bool has_name =
            many->taken[source->host] < many->share && many->nnamed < PYUSDT_FRAME_TARGETS;
        many->targets[many->ntargets] =
            (struct origin){many->chosen, source->nnumbers, has_name ? many->nnamed : NAMELESS};
        if (has_name) {
            many->taken[source->host]++;
            many->named[many->nnamed++] = many->ntargets;
        }
        source->number[source->nnumbers++] = many->ntargets++;
    }
    return true;
}

static int on_event(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_many *many = arg;
    struct source *source = &many->sources[many->chosen];
    struct pyusdt_event here = *event;

    if (!number_targets(many, source, event->target)) {
        many->failed = -ENOMEM;
        return 1;
    }
    here.target = source->number[event->target];
    here.time = source->last = time_here(source, event->time);
    return many->fn(many->arg, &here);
}

/* Those of the chosen one. */
static int poll(void *of, uint64_t until_ns, int max_events, pyusdt_event_fn *fn, void *arg)
{
    struct pyusdt_many *many = of;
    const struct source *source = &many->sources[many->chosen];

    if (source->last > until_ns)
        return 0;
    many->fn = fn;
    many->arg = arg;
    many->failed = 0;
    uint64_t there =
        source->shift >= 0
            ? (until_ns < (uint64_t)source->shift ? 0 : until_ns - (uint64_t)source->shift)
            : shifted(until_ns, -source->shift);
    int n = pyusdt_replay_feed.poll(source->replay, there, max_events, on_event, many);
    return many->failed ? many->failed : n;
}

static int target_info(const void *of, uint32_t target, struct pyusdt_target_info *info)
{
    const struct pyusdt_many *many = of;

    if (target >= many->ntargets)
        return -ENOENT;
    const struct source *source = &many->sources[many->targets[target].source];
    int code = pyusdt_replay_feed.target(source->replay, many->targets[target].target, info);
    info->host = source->host;
    info->visible = 0;
    return code;
}

static int probe_info(const void *of, uint32_t target, uint32_t probe,
                      struct pyusdt_probe_info *info)
{
    const struct pyusdt_many *many = of;

    if (target >= many->ntargets)
        return -ENOENT;
    const struct origin *origin = &many->targets[target];
    return pyusdt_replay_feed.probe(many->sources[origin->source].replay, origin->target, probe,
                                    info);
}

static int place_info(const void *of, uint32_t target, uint32_t place,
                      struct pyusdt_place_info *info)
{
    const struct pyusdt_many *many = of;

    if (target >= many->ntargets)
        return -ENOENT;
    const struct origin *origin = &many->targets[target];
    return pyusdt_replay_feed.place(many->sources[origin->source].replay, origin->target, place,
                                    info);
}

static uint32_t targets(const void *of)
{
    return ((const struct pyusdt_many *)of)->ntargets;
}

static uint32_t named(const void *of, uint32_t target)
{
    const struct pyusdt_many *many = of;

    return target < many->ntargets ? many->targets[target].named : NAMELESS;
}

uint32_t pyusdt_many_target(const struct pyusdt_many *many, uint32_t named)
{
    return named < many->nnamed ? many->named[named] : NAMELESS;
}

const struct pyusdt_feed_kind pyusdt_many_feed = {poll,    target_info, probe_info, place_info,
                                                  targets, NULL,        named};
