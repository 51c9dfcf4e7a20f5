/*
 * One event, and what a tracer knows of the process that fired it.
 *
 * Sessions and recordings deliver events in this form; event_decode.h makes it of bytes.
 */
#ifndef PYUSDT_EVENTS_EVENT_H
#define PYUSDT_EVENTS_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "pyusdt.h"
#include "shared/limits.h"
#include "shared/probe_info.h"

/* One firing. Valid during the callback; strings are NUL-terminated and hold length bytes before it. */
struct pyusdt_event {
    uint64_t time;   /* CLOCK_MONOTONIC, ns */
    uint32_t target; /* index for pyusdt_session_target() */
    uint32_t probe;  /* index in the target's probe table, always below its nprobes */
    uint32_t place;  /* code location, for pyusdt_session_place(); 0: the probe has none */
    uint32_t tid;
    uint32_t cpu;
    uint32_t args; /* bit i: it has argument i; the others are 0 */
    uint32_t ncaptures;
    uint64_t arg[PYUSDT_MAX_ARGS];
    struct pyusdt_capture {
        uint64_t address;
        uint32_t length;
        uint32_t index; /* of the argument */
        const char *data;
    } capture[PYUSDT_MAX_ARGS];
    const uint8_t *frames; /* of the stack, 8 bytes each (pyusdt_frame), at any alignment */
    uint32_t nframes;      /* at most PYUSDT_MAX_FRAMES; 0: the event has no stack */
    bool more;             /* the stack had more frames than were wanted */
};

/* Returns 0 to go on, anything else to make the poll return at once (this event counts as delivered). */
typedef int pyusdt_event_fn(void *arg, const struct pyusdt_event *event);
#define PYUSDT_EVENT_DEFERRED \
    INT32_MAX /* returned while several threads deliver: the event stays for a later round */

struct pyusdt_target_info {
    uint32_t pid; /* as the tracer sees it, if it can */
    uint32_t uid;
    uint32_t gid;
    uint32_t nprobes;
    uint32_t rings;
    uint32_t wanted; /* probes that this session has enabled in it */
    int alive;       /* 0: dead, and everything that it had published has been delivered */
    int visible; /* 0: it is in another pid namespace, and the tracer has no pid for it: pid is its own */
    uint32_t host; /* of merged_replay.h: 1, 2, …; 0: this machine */
    uint32_t ancestors
        [PYUSDT_CTL_ANCESTORS]; /* by its own account, if its pids mean something to the tracer; else zeros */
    char comm[16];
};

/* Called for each probe of each process in a list; a nonzero result ends the list. */
typedef int pyusdt_list_fn(void *arg, const struct pyusdt_target_info *target,
                           const struct pyusdt_probe_info *probe);

#endif
