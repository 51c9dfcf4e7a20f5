/*
 * A session's rings in shares, each for a reader of its own: session.h.
 *
 * In:  how many there are to be. Out: what waits in each.
 * Always: rings are given to shares when they are mapped (target_process.c), and delivered by ring_merge.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "session/session_state.h"

int pyusdt_session_divide(struct pyusdt_session *session, uint32_t shares)
{
    struct pyusdt_share *share;

    if (session->started || shares == 0)
        return -EINVAL;
    if (!(share = calloc(shares, sizeof *share)))
        return -ENOMEM;
    free(session->share); /* nothing is there yet */
    session->share = share;
    session->nshares = shares;
    return 0;
}

void pyusdt_session_apart(struct pyusdt_session *session, bool apart)
{
    session->apart = apart;
}

bool pyusdt_session_left(const struct pyusdt_session *session, uint32_t share)
{
    return session->share[share].left;
}

uint64_t pyusdt_session_waiting(const struct pyusdt_session *session, uint32_t share)
{
    const struct pyusdt_share *of = &session->share[share];
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < of->nheap; i++)
        bytes += of->heap[i]->limit - of->heap[i]->position;
    return bytes;
}
