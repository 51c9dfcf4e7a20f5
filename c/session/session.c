/* Sessions: opening and closing them, which processes may join, what is known of targets. */
#define _GNU_SOURCE
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discovery/find_process.h"
#include "session/container_scan.h"
#include "session/kept_session.h"
#include "session/ring_merge.h"
#include "session/rundir_scan.h"
#include "session/session_dir.h"
#include "session/session_file.h"
#include "session/session_forks.h"
#include "session/session_state.h"
#include "session/session_warnings.h"
#include "session/target_drops.h"
#include "session/target_enable.h"
#include "session/target_process.h"
#include "session/target_scan.h"
#include "shared/error.h"
#include "shared/os.h"

#define ORDERLAG_DEFAULT_NS 100000000u

/* ---- its life ---- */

static void configure(struct pyusdt_session *session, const struct pyusdt_session_config *config)
{
    struct pyusdt_session_header *header = &session->header;
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    uint64_t bufsize = config && config->bufsize ? config->bufsize : PYUSDT_RING_DEFAULT,
             size = PYUSDT_RING_MIN;

    while (size < bufsize && size < PYUSDT_RING_MAX)
        size *= 2;
    header->magic = PYUSDT_SESSION_MAGIC;
    header->version = PYUSDT_LAYOUT_VERSION;
    header->tracer = (uint32_t)getpid();
    header->bufsize = size;
    header->max_rings = config && config->max_rings ? config->max_rings : PYUSDT_RINGS_MAX;
    if (header->max_rings > PYUSDT_RINGS_MAX)
        header->max_rings = PYUSDT_RINGS_MAX;
    header->want_size = sizeof(struct pyusdt_want);
    header->flags = config && config->children ? PYUSDT_SESSION_CHILDREN : 0;
    session->orderlag = config && config->orderlag_ns ? config->orderlag_ns : ORDERLAG_DEFAULT_NS;
    session->begun = pyusdt_now();
    session->processors = (uint32_t)(processors > 0 ? processors : 1);
}

int pyusdt_session_open(const char *path, const struct pyusdt_session_config *config,
                        struct pyusdt_session **out, struct pyusdt_error *error)
{
    struct pyusdt_session *session = calloc(1, sizeof *session);
    pid_t home = config ? config->home : 0;
    struct pyusdt_process_file found;
    struct pyusdt_session_dir *rundir;
    int r;

    if (!session)
        return pyusdt_error_set(error, -ENOMEM, "no memory for a session");
    session->own = !path && !home;
    configure(session, config);
    if ((r = pyusdt_session_make_shares(session, 1)) != 0 ||
        (r = pyusdt_session_register(session)) != 0)
        pyusdt_error_set(error, r, "no memory for a session");
    if (r == 0)
        r = pyusdt_kept_configure(session, config, error);
    /* the next tracer of a kept session may lack it */
    if (r == 0 && session->header.keep_ns == 0 && pyusdt_os_has_barrier())
        session->header.flags |= PYUSDT_SESSION_BARRIER;
    if (r == 0)
        r = home ? pyusdt_find_process(home, &found, error)
                 : pyusdt_rundir_open_named(path, &found.in, error);
    if (r == 0)
        r = pyusdt_session_dir_open(session, &found.in, &rundir, error);
    if (r < 0) {
        pyusdt_session_close(session);
        return r;
    }
    *out = session;
    return 0;
}

int pyusdt_session_want(struct pyusdt_session *session, const struct pyusdt_want *want)
{
    uint32_t n = session->nwants;
    struct pyusdt_want *more;

    if (session->started)
        return -EBUSY;
    if (n == PYUSDT_WANTS_MAX)
        return -E2BIG;
    more = realloc(session->wants, (n + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    session->wants = more;
    more[n] = *want;
    more[n].provider[PYUSDT_GLOB_SIZE - 1] = more[n].module[PYUSDT_GLOB_SIZE - 1] = '\0';
    more[n].function[PYUSDT_GLOB_SIZE - 1] = more[n].name[PYUSDT_GLOB_SIZE - 1] = '\0';
    session->nwants = n + 1;
    session->counts |= want->counts != 0;
    return 0;
}

int pyusdt_session_add_path(struct pyusdt_session *session, const void *bytes, size_t size)
{
    struct pyusdt_path *path = &session->paths[session->npaths];

    if (session->started)
        return -EBUSY;
    if (size == 0 || size > sizeof path->bytes)
        return -EINVAL;
    for (uint32_t i = 0; i < session->npaths; i++)
        if (session->paths[i].size == size && memcmp(session->paths[i].bytes, bytes, size) == 0)
            return (int)(PYUSDT_PATH_ARG + i);
    if (session->npaths == PYUSDT_PATHS_MAX)
        return -E2BIG;
    path->size = (uint32_t)size;
    memcpy(path->bytes, bytes, size);
    return (int)(PYUSDT_PATH_ARG + session->npaths++);
}

int pyusdt_session_start(struct pyusdt_session *session, struct pyusdt_error *error)
{
    int r = 0;

    if (session->forked)
        return pyusdt_session_forked_error(error);
    if (session->started)
        return pyusdt_error_set(error, -EALREADY, "cannot start the session: %s",
                                strerror(EALREADY));
    for (uint32_t i = 0; r == 0 && i < session->nrundirs; i++)
        if (session->rundir[i]->fd >= 0)
            r = pyusdt_session_dir_start(session, session->rundir[i], error);
    if (r != 0)
        return r;
    session->started = true;
    session->refreshed_at = pyusdt_now();
    pyusdt_session_scan_rundirs(session, session->refreshed_at);
    pyusdt_session_scan(session, true);
    return 0;
}

/* ---- which processes may join ---- */

/* Writes which processes the run directory invites now. */
static int write_invitations(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                             struct pyusdt_error *error)
{
    int r = pyusdt_session_dir_write_header(rundir);

    if (r != 0)
        return pyusdt_error_set(error, r, "cannot write the session file: %s", strerror(-r));
    if (session->forked)
        return pyusdt_session_forked_error(error);
    if (session->started)
        pyusdt_session_scan(session, true);
    return 0;
}

int pyusdt_session_attach_all(struct pyusdt_session *session, struct pyusdt_error *error)
{
    int r = 0;

    session->header.flags |= PYUSDT_SESSION_ALL;
    for (uint32_t i = 0; r == 0 && i < session->nrundirs; i++) {
        session->rundir[i]->header.flags |= PYUSDT_SESSION_ALL;
        if (session->rundir[i]->fd >= 0)
            r = write_invitations(session, session->rundir[i], error);
    }
    return r;
}

/* base: where the process is; NULL: wherever it will be. */
static int invite_process(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                          uint32_t inner, uint32_t host, struct pyusdt_error *error)
{
    int r = 0;

    if (session->npids == PYUSDT_PIDS_MAX)
        return pyusdt_error_set(error, -E2BIG, "a session names %d processes at most",
                                PYUSDT_PIDS_MAX);
    session->pids[session->npids].rundir = rundir;
    session->pids[session->npids].pid = inner;
    session->pids[session->npids++].host = host;
    for (uint32_t i = 0; r == 0 && i < session->nrundirs; i++)
        if (!rundir || rundir == session->rundir[i]) {
            pyusdt_session_dir_invite(session->rundir[i], inner);
            if (session->rundir[i]->fd >= 0)
                r = write_invitations(session, session->rundir[i], error);
        }
    return r;
}

int pyusdt_session_expect_pid(struct pyusdt_session *session, pid_t pid, struct pyusdt_error *error)
{
    session->expecting = true;
    return invite_process(session, NULL, (uint32_t)pid, 0, error);
}

int pyusdt_session_attach_pid(struct pyusdt_session *session, pid_t pid, struct pyusdt_error *error)
{
    struct pyusdt_process_file found;
    struct pyusdt_session_dir *rundir;
    int r = pyusdt_find_process(pid, &found, error);

    if (r == 0)
        r = pyusdt_session_dir_open(session, &found.in, &rundir, error);
    if (r == 0)
        r = invite_process(session, rundir, found.inner, (uint32_t)pid, error);
    if (r == 0)
        pyusdt_session_follow_setuid(session, rundir, found.inner, (uint32_t)pid);
    return r;
}

/* ---- what is known ---- */

int pyusdt_session_target(const struct pyusdt_session *session, uint32_t target,
                          struct pyusdt_target_info *info)
{
    if (target >= session->ntargets)
        return -ENOENT;
    pyusdt_target_info(session->targets[target], info);
    return 0;
}

/* A name without a start time could be any process's; a process of another pid namespace has another number here. */
int pyusdt_session_has_process(const struct pyusdt_session *session, uint32_t pid)
{
    for (uint32_t i = 0; i < session->ntargets; i++) {
        const struct pyusdt_target *target = session->targets[i];
        struct pyusdt_identity seen = {pid, 0, target->who.starttime};
        if (target->pid == pid && target->visible && seen.starttime != 0 && pyusdt_is_alive(&seen))
            return 1;
    }
    return 0;
}

int pyusdt_session_probe(const struct pyusdt_session *session, uint32_t target, uint32_t probe,
                         struct pyusdt_probe_info *info)
{
    struct pyusdt_probe_table table;

    if (target >= session->ntargets)
        return -ENOENT;
    table = session->targets[target]->table->table;
    table.pid = session->targets[target]->pid;
    return pyusdt_probe_table_info(&table, probe, info);
}

int pyusdt_session_place(const struct pyusdt_session *session, uint32_t target, uint32_t place,
                         struct pyusdt_place_info *info)
{
    if (target >= session->ntargets ||
        !pyusdt_places_get(&session->targets[target]->known_places, place, info))
        return -ENOENT;
    return 0;
}

int64_t pyusdt_session_drops(const struct pyusdt_session *session, uint32_t target, uint32_t probe)
{
    if (target >= session->ntargets || probe >= session->targets[target]->table->table.nprobes)
        return -ENOENT;
    return (int64_t)pyusdt_target_probe_drops(session->targets[target], probe);
}

void pyusdt_session_stats(struct pyusdt_session *session, struct pyusdt_session_stats *stats)
{
    *stats = (struct pyusdt_session_stats){.delivered = session->counted,
                                           .corrupt = session->corrupt,
                                           .failures = session->failures,
                                           .refusals = session->refusals,
                                           .targets = session->ntargets,
                                           .alive = session->nliving,
                                           .slot = session->rundir[0]->header.slot,
                                           .others = session->others};
    for (uint32_t i = 0; i < session->nshares; i++) {
        stats->delivered += session->share[i].delivered;
        stats->out_of_order += session->share[i].out_of_order;
        stats->corrupt += session->share[i].corrupt;
        stats->again += session->share[i].again;
    }
    for (uint32_t i = 0; i < session->ntargets; i++) {
        struct pyusdt_target *target = session->targets[i];
        stats->dropped += pyusdt_target_total_drops(session, target);
        stats->bytes +=
            target->life == PYUSDT_FINISHED ? 0 : target->rings * target->rundir->header.bufsize;
    }
}

/* ---- the end ---- */

void pyusdt_session_stop(struct pyusdt_session *session)
{
    if (!session->started || session->stopped || session->forked)
        return;
    session->stopped = true;
    for (uint32_t i = 0; i < session->nrundirs; i++) {
        session->rundir[i]->header.state = PYUSDT_SESSION_MAKING;
        if (session->rundir[i]->started)
            pyusdt_session_dir_write_header(session->rundir[i]);
    }
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_detach(
            session->targets[i]); /* of the dead those whose children still count */
    pyusdt_session_scan(
        session, true); /* processes that joined by themselves since the last scan may have fired */
}

void pyusdt_session_free(struct pyusdt_session *session)
{
    pyusdt_session_unregister(session);
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_free(session->targets[i]);
    for (uint32_t i = 0; i < session->nrundirs; i++) {
        close(session->rundir[i]->in.dir);
        free(session->rundir[i]);
    }
    pyusdt_warnings_free(session);
    for (uint32_t i = 0; i < PYUSDT_UNTRUSTED_WARNINGS_KEPT; i++)
        free(session->untrusted.text[i]);
    for (uint32_t i = 0; i < session->nhints; i++)
        free(session->hint[i].text);
    pyusdt_containers_free(session->containers);
    free(session->targets);
    free(session->living);
    for (uint32_t i = 0; i < session->nshares; i++)
        free(session->share[i].heap);
    free(session->share);
    free(session->wants);
    free(session);
}

void pyusdt_session_close(struct pyusdt_session *session)
{
    if (!session)
        return;
    if (session->forked) {
        pyusdt_session_free(session);
        return;
    }
    pyusdt_session_stop(session);
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_finish(session, session->targets[i]);
    for (uint32_t i = 0; i < session->nrundirs; i++)
        pyusdt_session_dir_close(session->rundir[i]);
    pyusdt_session_free(session);
}

void pyusdt_session_leave(struct pyusdt_session *session)
{
    if (session->forked) {
        pyusdt_session_free(session);
        return;
    }
    session->next_seen = 0;
    pyusdt_kept_write_seen(session, pyusdt_now());
    pyusdt_session_mark_shown(session);
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_unmap(session->targets[i]);
    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (session->rundir[i]->fd >= 0) {
            close(session->rundir[i]->fd); /* and with it the lock; the file stays */
            session->rundir[i]->fd = -1;
        }
    pyusdt_session_free(session);
}
