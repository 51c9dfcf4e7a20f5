/*
 * Encodes one event (struct pyusdt_ring_event in layout.h) in one pass, at the place where it is
 * published.
 *
 * - At most pyusdt_event_max_size() bytes are written, and nothing behind the event.
 */
#ifndef PYUSDT_ENCODE_H
#define PYUSDT_ENCODE_H

#include <string.h>

#include "target/target.h"

static inline uint32_t pyusdt_capture_size(uint32_t length)
{
    return ((uint32_t)sizeof(struct pyusdt_ring_capture) + length + 1 + 3) & ~3u;
}

/* The length of the string in the event. */
static inline uint32_t pyusdt_captured_length(const struct pyusdt_demand *demand,
                                              const struct pyusdt_args *args, uint32_t index)
{
    return args->length[index] < demand->bytes[index] ? args->length[index] : demand->bytes[index];
}

/* The number of native frames in the event, and of frames of the language, which begin at `first`.
 * more: one more word says that frames are missing. A caller with a stack of its own may leave
 * `natives` unset. */
struct pyusdt_stack_parts {
    uint32_t natives, others, first;
    bool more;
};

static inline struct pyusdt_stack_parts pyusdt_stack_parts(const struct pyusdt_demand *demand,
                                                           const struct pyusdt_args *args)
{
    const uint32_t first = args->natives < args->nframes ? args->natives : args->nframes,
                   others = args->nframes - first;
    const bool cut =
        others == 1 && args->frame[first] == PYUSDT_FRAME_MORE; /* there are only native ones */
    struct pyusdt_stack_parts parts = {demand->natives ? first : 0, cut ? 0 : others, first, false};

    if (parts.others > demand->frames) {
        parts.others = demand->frames;
        parts.more = true;
    }
    if (parts.natives > demand->frames)
        parts.natives = demand->frames;
    if (parts.others == 0 && demand->natives && (cut || parts.natives < first))
        parts.more = true;
    return parts;
}

/* Apart from the encoding of an event without a stack. */
static __attribute__((noinline, unused)) uint32_t
pyusdt_captured_stack_size(const struct pyusdt_demand *demand, const struct pyusdt_args *args)
{
    struct pyusdt_stack_parts parts = pyusdt_stack_parts(demand, args);
    return 8u * (parts.natives + parts.others + parts.more);
}

/* Whether the session has the stack of this event, too. */
static inline bool pyusdt_has_stack(const struct pyusdt_demand *demand, uint32_t mask,
                                    const struct pyusdt_args *args)
{
    return (mask & PYUSDT_DEMAND_STACK) != 0 && demand->frames != 0 && args->nframes != 0 &&
           pyusdt_captured_stack_size(demand, args) != 0;
}

/* The longest that an event can be. */
static inline uint32_t pyusdt_event_max_size(const struct pyusdt_demand *demand)
{
    const uint32_t stack = 8u * (demand->frames * (demand->natives ? 2 : 1) + 1);
    uint32_t size = (uint32_t)sizeof(struct pyusdt_ring_event) + demand->nargs * 8u;

    for (uint32_t i = 0; i < demand->ncaptures; i++)
        size += pyusdt_capture_size(demand->bytes[demand->index[i]]);
    if (demand->frames != 0)
        size += pyusdt_capture_size(stack < PYUSDT_STACK_MAX ? stack : PYUSDT_STACK_MAX);
    return (size + 7) & ~7u;
}

/* How long this one will be. */
static inline uint32_t pyusdt_event_size(const struct pyusdt_demand *demand, uint32_t mask,
                                         const struct pyusdt_args *args)
{
    uint32_t size = (uint32_t)sizeof(struct pyusdt_ring_event) + demand->nargs * 8u;

    for (uint32_t i = 0; i < demand->ncaptures; i++)
        if (args->value[demand->index[i]] != 0)
            size += pyusdt_capture_size(pyusdt_captured_length(demand, args, demand->index[i]));
    if (pyusdt_has_stack(demand, mask, args))
        size += pyusdt_capture_size(pyusdt_captured_stack_size(demand, args));
    return (size + 7) & ~7u;
}

/* Returns the address behind it. Most strings are shorter than a call of memcpy() is long. */
static inline uint8_t *pyusdt_encode_string(uint8_t *to, uint32_t index, const uint8_t *from,
                                            uint64_t length)
{
    struct pyusdt_ring_capture capture = {(uint16_t)index, (uint16_t)length};
    uint64_t a, b;
    uint32_t c, d;

    memcpy(to, &capture, sizeof capture);
    to += sizeof capture;
    if (length < 4) {
        memset(to, 0, 4);
        if (length > 0)
            to[0] = from[0], to[length / 2] = from[length / 2], to[length - 1] = from[length - 1];
        return to + 4;
    }
    memset(to + (length & ~3ull), 0,
           4); /* the NUL and the padding: the string's last bytes overwrite their part */
    if (length > 16) {
        memcpy(to, from, length);
    } else if (length >= 8) {
        memcpy(&a, from, 8), memcpy(&b, from + length - 8, 8);
        memcpy(to, &a, 8), memcpy(to + length - 8, &b, 8);
    } else {
        memcpy(&c, from, 4), memcpy(&d, from + length - 4, 4);
        memcpy(to, &c, 4), memcpy(to + length - 4, &d, 4);
    }
    return to + (length & ~3ull) + 4;
}

/* The arguments that a tracer reads. */
static inline void pyusdt_encode_values(uint8_t *to, uint32_t args, const uint64_t *value)
{
    uint32_t i = 0;

    for (; (args >> i & 3) == 3;
         i += 2, to += 16) /* from the first on, two at a time: most often that is all */
        memcpy(to, value + i, 16);
    for (args = args >> i << i; args != 0; args &= args - 1, to += 8)
        memcpy(to, &value[__builtin_ctz(args)], 8);
}

/* Writes as many frames as the session wants; one more word says that frames are missing. Returns
 * the address behind it. */
static __attribute__((noinline, unused)) uint8_t *
pyusdt_encode_stack(uint8_t *to, const struct pyusdt_demand *demand, const struct pyusdt_args *args)
{
    const struct pyusdt_stack_parts parts = pyusdt_stack_parts(demand, args);
    const uint32_t natives = 8u * parts.natives, others = 8u * parts.others;
    const struct pyusdt_ring_capture capture = {PYUSDT_CAPTURE_STACK,
                                                (uint16_t)(natives + others + 8u * parts.more)};
    const uint64_t more = PYUSDT_FRAME_MORE;

    memcpy(to, &capture, sizeof capture);
    to += sizeof capture;
    memcpy(to, args->frame, natives);
    memcpy(to + natives, args->frame + parts.first, others);
    to += natives + others;
    if (parts.more) {
        memcpy(to, &more, sizeof more);
        to += sizeof more;
    }
    memset(to, 0, 4);
    return to + 4;
}

/* Writes an event in place, except its time. Returns its size. */
static inline __attribute__((always_inline)) uint32_t pyusdt_event_encode(
    struct pyusdt_ring_event *event, uint32_t probe, uint32_t tid,
    const struct pyusdt_demand *demand, uint32_t mask, const struct pyusdt_args *args)
{
    uint8_t *at = (uint8_t *)event, *to = at + sizeof *event + demand->nargs * 8u;
    uint32_t strings = 0;

    /* field by field in place: the copy of a struct that was just filled stalls */
    event->probe = probe;
    event->tid = tid;
    event->cpu = (uint16_t)pyusdt_os_cpu();
    pyusdt_encode_values(at + sizeof *event, PYUSDT_EVENT_ARGS(mask), args->value);
    for (const uint8_t *each = demand->index, *end = each + demand->ncaptures; each < end; each++) {
        const uint8_t *from = (const uint8_t *)(uintptr_t)args->value[*each];
        if (PYUSDT_UNLIKELY(!from))
            continue;
        to = pyusdt_encode_string(to, *each, from, pyusdt_captured_length(demand, args, *each));
        strings++;
    }
    if (PYUSDT_UNLIKELY(pyusdt_has_stack(demand, mask, args))) {
        to = pyusdt_encode_stack(to, demand, args);
        strings++;
    }
    event->args = PYUSDT_EVENT_HAS(PYUSDT_EVENT_ARGS(mask), strings);
    if ((to - at) % 8 != 0) {
        memset(to, 0, 4);
        to += 4;
    }
    event->size = (uint32_t)(to - at);
    return event->size;
}

/* The same for an event without arguments, whose size is that of the struct. */
static inline void pyusdt_event_encode_bare(struct pyusdt_ring_event *event, uint32_t probe,
                                            uint32_t tid)
{
    event->size = sizeof *event;
    event->probe = probe;
    event->tid = tid;
    event->cpu = (uint16_t)pyusdt_os_cpu();
    event->args = PYUSDT_EVENT_HAS(0, 0);
}

#endif
