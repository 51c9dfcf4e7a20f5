/* A session as a source of events: the functions of session.h and ring_merge.h in a table. */
#define _GNU_SOURCE
#include "session/session_source.h"

#include "session/ring_merge.h"
#include "session/session.h"
#include "session/session_state.h"
#include "session/target_counts.h"

static int poll(void *of, uint64_t until_ns, int max_events, pyusdt_event_fn *fn, void *arg)
{
    return pyusdt_session_poll(of, until_ns, max_events, fn, arg);
}

static int target_info(const void *of, uint32_t target, struct pyusdt_target_info *info)
{
    return pyusdt_session_target(of, target, info);
}

static int probe_info(const void *of, uint32_t target, uint32_t probe,
                      struct pyusdt_probe_info *info)
{
    return pyusdt_session_probe(of, target, probe, info);
}

static int place_info(const void *of, uint32_t target, uint32_t place,
                      struct pyusdt_place_info *info)
{
    return pyusdt_session_place(of, target, place, info);
}

static uint32_t targets(const void *of)
{
    return ((const struct pyusdt_session *)of)->ntargets;
}

static void counts(void *of, pyusdt_event_fn *fn, void *arg)
{
    pyusdt_session_deliver_counts(of, fn, arg);
}

const struct pyusdt_event_source_ops pyusdt_session_source_ops = {
    poll, target_info, probe_info, place_info, targets, counts, NULL};
