/*
 * Decodes one event (layout.h: struct pyusdt_ring_event).
 *
 * - The bytes are untrusted. Headers and captures are checked in private memory, which nobody
 *   changes meanwhile.
 * - The decoded event points into these bytes; -EBADMSG: they are no event.
 */
#ifndef PYUSDT_EVENTS_EVENT_DECODE_H
#define PYUSDT_EVENTS_EVENT_DECODE_H

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "shared/layout.h"
#include "events/event.h"

/* Bytes of the event before its captures. */
static inline uint32_t pyusdt_event_values_end(const struct pyusdt_ring_event *header)
{
    return (uint32_t)sizeof *header + 8u * pyusdt_args_count(PYUSDT_EVENT_ARGS(header->args));
}

static inline bool pyusdt_event_is_header_valid(const struct pyusdt_ring_event *header,
                                                uint64_t available)
{
    return header->size % 8 == 0 && header->size <= available &&
           header->size <= PYUSDT_EVENT_MAX + 7 &&
           PYUSDT_EVENT_CAPTURES(header->args) <= PYUSDT_MAX_ARGS + 1 &&
           header->size >= pyusdt_event_values_end(header);
}

/* The frames that the bytes are; false: they are none. */
static inline bool pyusdt_event_decode_stack(const uint8_t *bytes, uint32_t length,
                                             struct pyusdt_event *event)
{
    uint32_t n = length / 8;
    uint64_t last;

    if (length % 8 != 0 || n == 0 || n > PYUSDT_MAX_FRAMES + 1 || event->nframes != 0)
        return false;
    memcpy(&last, bytes + length - 8, sizeof last);
    event->more = last == PYUSDT_FRAME_MORE;
    event->nframes = event->more ? n - 1 : n;
    event->frames = bytes;
    return event->nframes <= PYUSDT_MAX_FRAMES;
}

/* The greatest number of a place in its stack. */
static inline uint32_t pyusdt_event_max_place(const struct pyusdt_event *event)
{
    uint32_t last = 0;
    uint64_t frame;

    for (uint32_t i = 0; i < event->nframes; i++) {
        memcpy(&frame, event->frames + 8 * i, sizeof frame);
        if (frame >> 32 > last)
            last = (uint32_t)(frame >> 32);
    }
    return last;
}

/* Each argument in its place; those that the event does not have are 0. */
static inline void pyusdt_event_decode_values(uint32_t args, const uint8_t *values, uint64_t *arg)
{
    memset(arg, 0, PYUSDT_MAX_ARGS * sizeof *arg);
    for (; args != 0; args &= args - 1, values += 8)
        memcpy(&arg[__builtin_ctz(args)], values, 8);
}

/*
 * `header`: checked, and values_end is its pyusdt_event_values_end(). `values`: the arguments that follow it, read here once, so others may write to them. `rest`: what follows
 * those, in memory of our own, where a NUL is put behind each string. Target is left to the caller.
 */
static inline int pyusdt_event_decode(const struct pyusdt_ring_event *header, uint32_t values_end,
                                      const uint8_t *values, uint8_t *rest,
                                      struct pyusdt_event *event)
{
    uint32_t at = 0, size = header->size - values_end;

    event->time = header->time;
    event->probe = PYUSDT_EVENT_PROBE(header->probe);
    event->place = PYUSDT_EVENT_PLACE(header->probe);
    event->tid = header->tid;
    event->cpu = header->cpu;
    event->args = PYUSDT_EVENT_ARGS(header->args);
    event->ncaptures = event->nframes = 0;
    event->more = false;
    pyusdt_event_decode_values(event->args, values, event->arg);
    for (uint32_t i = 0; i < PYUSDT_EVENT_CAPTURES(header->args); i++) {
        struct pyusdt_ring_capture capture;
        if (size - at < sizeof capture)
            return -EBADMSG;
        memcpy(&capture, rest + at, sizeof capture);
        at += (uint32_t)sizeof capture;
        if (size - at < (uint32_t)capture.length + 1)
            return -EBADMSG;
        if (capture.index == PYUSDT_CAPTURE_STACK) {
            if (!pyusdt_event_decode_stack(rest + at, capture.length, event))
                return -EBADMSG;
        } else if (capture.index < PYUSDT_MAX_ARGS && event->args >> capture.index & 1 &&
                   capture.length <= PYUSDT_MAX_STRING && event->ncaptures < PYUSDT_MAX_ARGS) {
            rest[at + capture.length] = '\0';
            event->capture[event->ncaptures++] =
                (struct pyusdt_capture){.address = event->arg[capture.index],
                                        .length = capture.length,
                                        .index = capture.index,
                                        .data = (const char *)rest + at};
        } else {
            return -EBADMSG;
        }
        at = (at + capture.length + 1 + 3) & ~3u;
        if (at > size)
            return -EBADMSG;
    }
    return 0;
}

#endif
