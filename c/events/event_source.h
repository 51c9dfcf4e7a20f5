/*
 * Where a consumer's events come from: a session, or the recording of one. The functions are those of session.h, and mean
 * the same; events come in the order of their time, those of a target after the target is known.
 */
#ifndef PYUSDT_EVENTS_EVENT_SOURCE_H
#define PYUSDT_EVENTS_EVENT_SOURCE_H

#include "generated/program.h"
#include "events/event.h"
#include "events/place_table.h"

#define PYUSDT_FRAME_TARGETS (1u << (PYUSDT_FRAME_MARK_SHIFT - PYUSDT_FRAME_TARGET_SHIFT))

struct pyusdt_event_source_ops {
    int (*poll)(void *of, uint64_t until_ns, int max_events, pyusdt_event_fn *fn, void *arg);
    int (*target)(const void *of, uint32_t target, struct pyusdt_target_info *info);
    int (*probe)(const void *of, uint32_t target, uint32_t probe, struct pyusdt_probe_info *info);
    int (*place)(const void *of, uint32_t target, uint32_t place, struct pyusdt_place_info *info);
    uint32_t (*targets)(const void *of);                      /* how many are known */
    void (*counts)(void *of, pyusdt_event_fn *fn, void *arg); /* NULL: nothing is counted there */
    /* The number that frames of the target have in words, which have room for PYUSDT_FRAME_TARGETS; another: such a frame has no name.
     * NULL: its own. */
    uint32_t (*named)(const void *of, uint32_t target);
};

struct pyusdt_event_source {
    const struct pyusdt_event_source_ops *kind;
    void *of;
};

#endif
