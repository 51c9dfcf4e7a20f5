/* The heap of a share: the rings that have an event, the oldest event first. */
#ifndef PYUSDT_SESSION_RING_HEAP_H
#define PYUSDT_SESSION_RING_HEAP_H

#include <errno.h>
#include <stdlib.h>

#include "session/session_state.h"

static inline void pyusdt_share_sift_down(struct pyusdt_share *share, uint32_t at)
{
    struct pyusdt_source **heap = share->heap, *moving = heap[at];

    for (uint32_t child; (child = 2 * at + 1) < share->nheap; at = child) {
        if (child + 1 < share->nheap && heap[child + 1]->next.time < heap[child]->next.time)
            child++;
        if (heap[child]->next.time >= moving->next.time)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moving;
}

static inline int pyusdt_share_push(struct pyusdt_share *share, struct pyusdt_source *source)
{
    uint32_t at;

    if (share->nheap == share->room) {
        uint32_t room = share->room ? 2 * share->room : 64;
        void *more = realloc(share->heap, room * sizeof(void *));
        if (!more)
            return -ENOMEM;
        share->heap = more;
        share->room = room;
    }
    for (at = share->nheap++; at > 0; at = (at - 1) / 2) {
        struct pyusdt_source *parent = share->heap[(at - 1) / 2];
        if (parent->next.time <= source->next.time)
            break;
        share->heap[at] = parent;
    }
    share->heap[at] = source;
    return 0;
}

static inline void pyusdt_share_pop(struct pyusdt_share *share)
{
    share->heap[0]->waiting = false;
    share->heap[0] = share->heap[--share->nheap];
    if (share->nheap > 0)
        pyusdt_share_sift_down(share, 0);
}

#endif
