/* The list of targets, and finding a living one by who it is. */
#define _GNU_SOURCE
#include "session/target_list.h"

#include <errno.h>
#include <stdlib.h>

/* The chain of the living that a process belongs to. */
static struct pyusdt_target **chain_of(struct pyusdt_session *session,
                                       const struct pyusdt_identity *who)
{
    return &session->known[(who->pid ^ (uint32_t)who->starttime) % PYUSDT_KNOWN_CHAINS];
}

bool pyusdt_session_has_target(struct pyusdt_session *session,
                               const struct pyusdt_session_dir *rundir,
                               const struct pyusdt_identity *who)
{
    for (const struct pyusdt_target *target = *chain_of(session, who); target;
         target = target->next_known) {
        const struct pyusdt_identity *other = &target->who;
        if (target->rundir == rundir && other->pid == who->pid &&
            other->starttime == who->starttime && other->instance == who->instance)
            return true;
    }
    return false;
}

void pyusdt_session_remove_target(struct pyusdt_session *session,
                                  const struct pyusdt_target *target)
{
    struct pyusdt_target **at = chain_of(session, &target->who);

    while (*at && *at != target)
        at = &(*at)->next_known;
    if (*at)
        *at = target->next_known;
}

int pyusdt_session_add_target(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t n = session->ntargets;

    if ((n & (n - 1)) == 0) { /* full at each power of two */
        uint32_t room = n ? 2 * n : 1;
        void *targets = realloc(session->targets, room * sizeof *session->targets), *living;
        if (!targets)
            return -ENOMEM;
        session->targets = targets;
        living = realloc(session->living, room * sizeof *session->living);
        if (!living)
            return -ENOMEM;
        session->living = living;
    }
    struct pyusdt_target **chain = chain_of(session, &target->who);
    target->next_known = *chain;
    *chain = target;
    session->targets[n] = target;
    session->living[session->nliving++] = n;
    session->ntargets++;
    target->rundir->nliving++;
    return 0;
}
