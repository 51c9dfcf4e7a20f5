/* One ring of one target: how far it is read, and the end of reading. */
#ifndef PYUSDT_SESSION_RING_SOURCE_H
#define PYUSDT_SESSION_RING_SOURCE_H

#include "session/session_state.h"

#pragma GCC visibility push(hidden)

/* Publishes how far the ring is read, so that the target can use the room again. */
void pyusdt_source_publish_tail(struct pyusdt_source *source);

/* Takes the ring out of its share's heap. */
void pyusdt_source_leave_heap(struct pyusdt_source *source);

/* The same, after publishing how far it was read. */
void pyusdt_source_close(struct pyusdt_source *source);

static inline bool pyusdt_source_is_given_up(const struct pyusdt_source *source)
{
    return !source->data || source->size == 0;
}

#pragma GCC visibility pop

#endif
