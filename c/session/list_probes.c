/* Listing probes without a session: see list_probes.h. */
#define _GNU_SOURCE
#include "session/list_probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discovery/find_process.h"
#include "discovery/rundir_iter.h"
#include "session/session_state.h"
#include "session/session_warnings.h"
#include "session/target_enable.h"
#include "session/target_process.h"
#include "shared/error.h"
#include "shared/session_slot.h"
#include "shared/probe_table.h"

/* ---- listing ---- */

struct listing {
    struct pyusdt_session *session;   /* all that pyusdt_target_open() needs of one */
    struct pyusdt_session_dir rundir; /* and of that */
    pyusdt_list_fn *fn;
    void *arg;
    uint32_t only, host;     /* one process, in its namespace and in ours; 0: all */
    pyusdt_other_fn *other;  /* gets those that have another build */
    struct pyusdt_error why; /* likewise, of the last */
    int seen;
    bool stop;
    struct pyusdt_error
        failed; /* of the first process that could not be read, by a shortage of the tracer's */
};

/* Bit s: the tracer of the session in slot s lives. */
static uint64_t live_sessions(const struct pyusdt_target *target)
{
    const struct pyusdt_ctl_slot *slots = target->slot - target->rundir->header.slot;
    uint64_t live = 0;

    for (uint32_t i = 0; i < PYUSDT_MAX_SESSIONS; i++) {
        uint64_t wanted = atomic_load(&slots[i].wanted);
        if (wanted != 0 && pyusdt_session_is_alive(target->rundir->in.dir, i, wanted))
            live |= 1ull << i;
    }
    return live;
}

static struct pyusdt_target *open_target(struct listing *listing, const char *text,
                                         const struct pyusdt_identity *who, uint32_t host,
                                         struct pyusdt_error *error)
{
    struct pyusdt_target *target =
        pyusdt_target_open(listing->session, &listing->rundir, text, who, host, error);

    if (!target && error->code != -EAGAIN && pyusdt_is_shortage(error->code) &&
        listing->failed.code == 0)
        listing->failed = *error;
    return target;
}

static bool list_target(struct listing *listing, struct pyusdt_target *target)
{
    uint64_t live = live_sessions(target);
    struct pyusdt_probe_table table = target->table->table;
    struct pyusdt_target_info info;
    struct pyusdt_probe_info probe;

    table.pid = target->pid;
    pyusdt_target_info(target, &info);
    pyusdt_target_read_places(listing->session, target, 1);
    for (uint32_t i = 0; i < table.nprobes; i++) {
        if (pyusdt_probe_table_info(&table, i, &probe) != 0)
            continue;
        if (i < target->room)
            probe.sessions = (uint32_t)__builtin_popcountll(atomic_load(&target->words[i]) & live);
        if (listing->fn(listing->arg, &info, &probe) != 0 ||
            pyusdt_places_list(&target->known_places, &info, &probe, listing->fn, listing->arg) !=
                0)
            return true;
    }
    return false;
}

static bool is_running(struct pyusdt_target *target)
{
    return atomic_load(&target->ctl->state) != PYUSDT_CTL_EXITED && !pyusdt_target_is_dead(target);
}

static int list_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct listing *listing = arg;
    struct pyusdt_target *target;
    struct pyusdt_error error;
    bool stop = false;

    if (name->kind != PYUSDT_FILE_CTL || (listing->only != 0 && name->process.pid != listing->only))
        return 0;
    target = open_target(listing, text, &name->process, listing->host, &error);
    if (target && is_running(target)) {
        listing->seen++;
        stop = list_target(listing, target);
    } else if (!target && error.code == -EPROTONOSUPPORT && pyusdt_is_alive(&name->process)) {
        listing->why = error;
        if (listing->other)
            listing->other(listing->arg, name->process.pid, error.message);
    }
    pyusdt_target_free(target);
    listing->stop |= stop;
    return stop;
}

static int list_directory(void *arg, const struct pyusdt_rundir_handle *in)
{
    struct listing *listing = arg;
    int r;

    listing->rundir.in = *in;
    listing->rundir.lookups = 0;
    r = pyusdt_rundir_each(in->dir, list_file, listing);
    if (r < 0 && r != -E2BIG && listing->failed.code == 0)
        pyusdt_error_set(&listing->failed, r, "run directory %s cannot be read: %s", in->path,
                         strerror(-r));
    return 0;
}

/* And those in the same directory, if `beside`. */
static int list_process(struct listing *listing, pid_t pid, bool beside, struct pyusdt_error *error)
{
    struct pyusdt_process_file found;
    int r = pyusdt_find_process(pid, &found, error);

    if (r != 0)
        return r;
    if (!beside) {
        listing->only = found.inner;
        listing->host = (uint32_t)pid;
    }
    r = list_directory(listing, &found.in);
    close(found.in.dir);
    if (r == 0 && !beside && listing->seen == 0 && listing->why.code != 0)
        r = pyusdt_error_set(error, listing->why.code, "%s", listing->why.message);
    return r;
}

int pyusdt_list_probes(const char *rundir, pid_t pid, bool beside, pyusdt_list_fn *fn, void *arg,
                       struct pyusdt_error *error)
{
    struct listing listing = {.fn = fn, .arg = arg};
    int r;

    listing.session = calloc(1, sizeof *listing.session);
    if (!listing.session)
        return pyusdt_error_set(error, -ENOMEM, "no memory");
    r = pid ? list_process(&listing, pid, beside, error)
            : pyusdt_each_rundir(rundir, list_directory, &listing, error);
    pyusdt_warnings_free(listing.session);
    free(listing.session);
    if (r >= 0 && listing.failed.code != 0)
        r = pyusdt_error_set(error, listing.failed.code, "%s", listing.failed.message);
    return r < 0 ? r : listing.seen;
}

static int list_nothing(void *arg, const struct pyusdt_target_info *target,
                        const struct pyusdt_probe_info *probe)
{
    (void)arg, (void)target, (void)probe;
    return 0;
}

int pyusdt_list_other_builds(pyusdt_other_fn *fn, void *arg, struct pyusdt_error *error)
{
    struct listing listing = {.fn = list_nothing, .arg = arg, .other = fn};
    int r;

    listing.session = calloc(1, sizeof *listing.session);
    if (!listing.session)
        return pyusdt_error_set(error, -ENOMEM, "no memory");
    r = pyusdt_each_rundir(NULL, list_directory, &listing, error);
    free(listing.session);
    return r;
}

/* ---- what a kept session has ---- */

/* Those that have ended: pyusdt_list_probes() has the others. */
static int list_joined(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct listing *listing = arg;
    struct pyusdt_target *target;
    struct pyusdt_error error;

    if (name->kind != PYUSDT_FILE_CTL)
        return 0;
    target = open_target(listing, text, &name->process, 0, &error);
    if (target && atomic_load(&target->slot->wanted) == listing->rundir.header.generation &&
        !is_running(target))
        listing->stop |= list_target(listing, target);
    pyusdt_target_free(target);
    return listing->stop;
}

int pyusdt_session_list_dead(struct pyusdt_session *session, pyusdt_list_fn *fn, void *arg)
{
    struct listing listing = {.session = session, .fn = fn, .arg = arg};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < session->nrundirs; i++) {
        listing.rundir = *session->rundir[i];
        if (listing.rundir.resumed)
            r = pyusdt_rundir_each(listing.rundir.in.dir, list_joined, &listing);
    }
    if ((r == 0 || r == -E2BIG) && listing.failed.code != 0)
        return listing.failed.code;
    return r == -E2BIG ? 0 : r;
}
