/* Costs of users' processes, and the end of a user's tracing: see user_work.h. */
#define _GNU_SOURCE
#include "session/user_work.h"

#include <errno.h>
#include <stdlib.h>

#include "session/ring_merge.h"
#include "session/session_file.h"
#include "session/session_state.h"
#include "session/target_enable.h"
#include "session/target_process.h"
#include "session/target_scan.h"
#include "shared/os.h"

int pyusdt_session_user_work(const struct pyusdt_session *session, uint32_t n,
                             struct pyusdt_user_work *work)
{
    const struct pyusdt_session_dir *rundir = n < session->nrundirs ? session->rundir[n] : NULL;

    if (!rundir)
        return -ENOENT;
    *work =
        (struct pyusdt_user_work){.uid = rundir->in.uid, .work = rundir->work, .ns = rundir->ns};
    return 0;
}

/* ---- the end of a user's tracing ---- */

/* Finishes a target whose probes are off; what its rings hold is dropped. */
static void drop_target(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t nprobes;
    uint64_t *by_probe, lost = 0;

    pyusdt_target_map_new(session, target); /* rings that came since the last look */
    nprobes = target->table->table.nprobes;
    by_probe = calloc(nprobes ? nprobes : 1,
                      sizeof *by_probe); /* without memory for it only the sum is known */
    for (uint32_t k = 0; k < target->rings; k++)
        if (target->source[k])
            lost += pyusdt_source_drop_events(session, target->source[k], by_probe);
    pyusdt_target_finish(session, target);
    target->dropped += lost;
    if (!target->drops) {
        target->drops = by_probe;
        return;
    }
    for (uint32_t probe = 0; by_probe && probe < nprobes; probe++)
        target->drops[probe] += by_probe[probe];
    free(by_probe);
}

/* No process joins there any more. Those that have joined since the last scan are found, so that their probes are disabled, too. */
static void close_rundir(struct pyusdt_session *session, struct pyusdt_session_dir *rundir)
{
    rundir->cut_off = true;
    rundir->header.state = PYUSDT_SESSION_MAKING;
    if (rundir->fd >= 0 && rundir->started)
        pyusdt_session_dir_write_header(rundir);
    if (rundir->started)
        pyusdt_session_dir_scan(session, rundir);
}

void pyusdt_session_stop_user(struct pyusdt_session *session, uint32_t uid)
{
    uint32_t left = 0;

    if (!session->started || session->stopped || session->forked)
        return;
    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (session->rundir[i]->in.uid == uid && !session->rundir[i]->cut_off)
            close_rundir(session, session->rundir[i]);
    for (uint32_t i = 0; i < session->nliving; i++)
        if (session->targets[session->living[i]]->rundir->cut_off)
            pyusdt_target_detach(session->targets[session->living[i]]);
    if (session->header.flags & PYUSDT_SESSION_BARRIER)
        pyusdt_os_barrier();
    for (uint32_t i = 0; i < session->nliving; i++) {
        struct pyusdt_target *target = session->targets[session->living[i]];
        if (target->rundir->cut_off)
            drop_target(session, target);
        else
            session->living[left++] = session->living[i];
    }
    session->nliving = left;
    session->failures++; /* what he fires from here on is not seen */
}
