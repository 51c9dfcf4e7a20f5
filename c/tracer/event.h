/*
 * One event as bytes (layout.h: struct pyusdt_ring_event), checked and taken apart.
 * In: bytes that somebody else wrote, in memory of our own, which nobody changes meanwhile. Out: a struct pyusdt_event
 * that points into them, or -EBADMSG where they are no event.
 */
#ifndef PYUSDT_EVENT_H
#define PYUSDT_EVENT_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/layout.h"
#include "tracer/reader.h"

static inline bool pyusdt_event_header_ok(const struct pyusdt_ring_event *header, uint64_t available)
{
    return header->size % 8 == 0 && header->size <= available && header->size <= PYUSDT_EVENT_MAX + 7 &&
           header->nargs <= PYUSDT_MAX_ARGS && header->ncaptures <= PYUSDT_MAX_ARGS &&
           header->size >= sizeof *header + 8u * header->nargs;
}

/* `bytes`: the event, its header the one that was checked; a NUL is put behind each string. Target is left to the caller. */
static inline int pyusdt_event_decode(const struct pyusdt_ring_event *header, uint8_t *bytes, struct pyusdt_event *event)
{
    uint32_t at = (uint32_t)sizeof *header + 8u * header->nargs;

    event->time = header->time;
    event->probe = PYUSDT_EVENT_PROBE(header->probe);
    event->place = PYUSDT_EVENT_PLACE(header->probe);
    event->tid = header->tid;
    event->cpu = header->cpu;
    event->nargs = header->nargs;
    event->ncaptures = header->ncaptures;
    memcpy(event->arg, bytes + sizeof *header, 8u * header->nargs);
    memset(event->arg + header->nargs, 0, 8u * (PYUSDT_MAX_ARGS - header->nargs));
    for (uint32_t i = 0; i < header->ncaptures; i++) {
        struct pyusdt_ring_capture capture;
        if (header->size - at < sizeof capture)
            return -EBADMSG;
        memcpy(&capture, bytes + at, sizeof capture);
        at += (uint32_t)sizeof capture;
        if (capture.index >= header->nargs || capture.length > PYUSDT_MAX_STRING ||
            header->size - at < (uint32_t)capture.length + 1)
            return -EBADMSG;
        bytes[at + capture.length] = '\0';
        event->capture[i] = (struct pyusdt_capture){.address = event->arg[capture.index],
                                                    .length = capture.length,
                                                    .index = capture.index,
                                                    .data = (const char *)bytes + at};
        at = (at + capture.length + 1 + 3) & ~3u;
        if (at > header->size)
            return -EBADMSG;
    }
    return 0;
}

#endif
