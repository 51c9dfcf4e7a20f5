/* One ring of one target: see ring_source.h. */
#define _GNU_SOURCE
#include "session/ring_source.h"

#include "session/ring_heap.h"
#include "shared/test_hook.h"

void pyusdt_source_publish_tail(struct pyusdt_source *source)
{
    if (source->published == source->position)
        return;
    source->published = source->position;
    if (!source->kept)
        atomic_store_explicit(&source->line->tail, source->published, memory_order_release);
    else if (source->published > source->shown)
        /* never back: what came again may have been shown to its end */
        atomic_store_explicit(&source->line->read, source->published, memory_order_release);
    PYUSDT_HOOK(33);
}

void pyusdt_source_leave_heap(struct pyusdt_source *source)
{
    struct pyusdt_share *share = source->share;

    if (!source->waiting)
        return;
    for (uint32_t i = 0; i < share->nheap; i++)
        if (share->heap[i] == source)
            share->heap[i] = share->heap[--share->nheap];
    for (uint32_t i = share->nheap / 2; i-- > 0;)
        pyusdt_share_sift_down(share, i);
    source->waiting = false;
}

void pyusdt_source_close(struct pyusdt_source *source)
{
    if (!pyusdt_source_is_given_up(source))
        pyusdt_source_publish_tail(source);
    pyusdt_source_leave_heap(source);
}
