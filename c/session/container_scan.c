/*
 * Run directories in containers: see container_scan.h, and rundir_open.h for which of them are
 * opened.
 */
#define _GNU_SOURCE
#include "session/container_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "discovery/find_process.h"
#include "discovery/namespaces.h"
#include "discovery/proc_handle.h"
#include "session/session_dir.h"
#include "session/session_state.h"
#include "session/session_warnings.h"
#include "shared/error.h"
#include "shared/os.h"

#define SCAN_NS 200000000u /* the time between two scans, at least; */
#define COST_SHARE 50      /* it is as many times as long as the scan took */
#define YOUNG_NS \
    10000000000 /* so long a process may still become one with pyusdt in it, which deserves a warning */
#define PIDS_MAX (1u << 22) /* Linux has no more */

struct known { /* where a scan has been */
    uint64_t mounts;
    uint32_t uid;
};

struct pyusdt_containers {
    uint64_t next;
    uint32_t scans;
    struct known *known;
    uint32_t nknown, room;
    uint8_t examined[PIDS_MAX / 8]; /* by pid: processes whose mappings need not be read again */
};

struct scan {
    struct pyusdt_session *session;
    struct pyusdt_containers *containers;
};

/* ---- one process ---- */

static bool is_known(const struct pyusdt_containers *containers, uint64_t mounts, uint32_t uid)
{
    for (uint32_t i = 0; i < containers->nknown; i++)
        if (containers->known[i].mounts == mounts && containers->known[i].uid == uid)
            return true;
    return false;
}

static void add_known(struct pyusdt_containers *containers, uint64_t mounts, uint32_t uid)
{
    uint32_t room = 2 * containers->nknown + 16;

    if (containers->nknown == containers->room) {
        void *more = realloc(containers->known, room * sizeof *containers->known);
        if (!more)
            return; /* it is entered again, then */
        containers->known = more;
        containers->room = room;
    }
    containers->known[containers->nknown++] = (struct known){mounts, uid};
}

static bool is_examined(const struct pyusdt_containers *containers, uint32_t pid)
{
    return pid >= PIDS_MAX || containers->examined[pid / 8] >> pid % 8 & 1;
}

#define NOT_TRACED "processes of uid %u beside process %u, in its container, are not traced: %s"

static void open_rundirs(struct pyusdt_session *session, const struct pyusdt_proc_handle *handle)
{
    struct pyusdt_error error = {0, ""};
    struct pyusdt_rundir_handle in;
    struct pyusdt_session_dir *rundir;

    for (unsigned parent = 0; parent < PYUSDT_PARENTS; parent++) {
        int entered = pyusdt_rundir_open_of_handle(handle, parent, false, &in, &error), r = entered;
        if (entered == 0)
            r = pyusdt_session_dir_open(session, &in, &rundir, &error);
        if (pyusdt_is_shortage(r))
            pyusdt_session_warn_failure(session, NOT_TRACED, handle->uid, handle->pid,
                                        error.message);
        else if (entered == 0 && r != 0)
            pyusdt_session_warn_untrusted(session, NOT_TRACED, handle->uid, handle->pid,
                                          error.message);
    }
}

/* Not of those that have no pyusdt in them, or that end just now. */
static void open_process_rundir(struct pyusdt_session *session, uint32_t pid)
{
    struct pyusdt_error error = {0, ""};
    struct pyusdt_process_file found;
    struct pyusdt_session_dir *rundir;
    int r = pyusdt_find_process((pid_t)pid, &found, &error);

    if (r == 0)
        r = pyusdt_session_dir_open(session, &found.in, &rundir, &error);
    if (pyusdt_is_shortage(r))
        pyusdt_session_warn_failure(session, "%s", error.message);
    else if (r != 0 && r != -ENODATA && r != -ESRCH)
        pyusdt_session_warn_untrusted(session, "%s", error.message);
}

static void examine_process(struct pyusdt_session *session, struct pyusdt_containers *containers,
                            const struct pyusdt_proc_handle *handle)
{
    if (geteuid() != 0 && handle->uid != geteuid())
        return;
    if (!is_known(containers, handle->mounts, handle->uid)) {
        add_known(containers, handle->mounts, handle->uid);
        open_rundirs(session, handle);
    }
    if (is_examined(containers, handle->pid))
        return;
    open_process_rundir(session, handle->pid);
    if (pyusdt_proc_age_ns(handle) > YOUNG_NS)
        containers->examined[handle->pid / 8] |= (uint8_t)(1 << handle->pid % 8);
}

/* A process with root as its owner may be any user's who has changed his uid. */
static int visit_process(void *arg, uint32_t pid, uint64_t mounts, uint32_t owner)
{
    struct pyusdt_session *session = ((struct scan *)arg)->session;
    struct pyusdt_containers *containers = ((struct scan *)arg)->containers;
    struct pyusdt_proc_handle handle;
    int r;

    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (session->rundir[i]->in.mounts == mounts)
            session->rundir[i]->met = containers->scans;
    if (owner != 0 && is_examined(containers, pid) && is_known(containers, mounts, owner))
        return 0;
    r = pyusdt_proc_open(pid, &handle);
    if (pyusdt_is_shortage(r))
        pyusdt_session_warn_failure(session, "process %u, in a container, cannot be looked at: %s",
                                    pid, strerror(-r));
    if (r != 0)
        return 0;
    if (handle.mounts != 0)
        examine_process(session, containers, &handle);
    pyusdt_proc_close(&handle);
    return 0;
}

/* ---- all of them ---- */

static bool is_named(const struct pyusdt_session *session, const struct pyusdt_session_dir *rundir)
{
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].rundir == rundir)
            return true;
    return false;
}

/* Places of containers that have ended: what is open there keeps their file systems. */
static void close_ended(struct pyusdt_session *session, uint32_t scans)
{
    for (uint32_t i = session->nrundirs - 1; i > 0; i--) {
        struct pyusdt_session_dir *rundir = session->rundir[i];
        if (rundir->met == 0) /* it is of this very scan */
            rundir->met = scans;
        if (rundir->in.mounts == 0 || rundir->met == scans || rundir->nliving != 0 ||
            is_named(session, rundir))
            continue;
        session->rundir[i] = session->rundir[--session->nrundirs];
        pyusdt_session_dir_close(rundir);
        close(rundir->in.dir);
        free(rundir);
    }
}

void pyusdt_session_scan_containers(struct pyusdt_session *session, uint64_t now)
{
    struct scan scan = {session, session->containers};
    int r;

    if (!scan.containers)
        scan.containers = session->containers = calloc(1, sizeof *scan.containers);
    if (!scan.containers)
        pyusdt_session_warn_failure(session, "processes in containers are not traced: %s",
                                    strerror(ENOMEM));
    if (!scan.containers || now < scan.containers->next)
        return;
    scan.containers->scans++;
    scan.containers->nknown = 0;
    r = pyusdt_each_other_namespace(visit_process, &scan);
    if (pyusdt_is_shortage(r))
        pyusdt_session_warn_failure(
            session, "processes in containers are not traced: /proc cannot be read: %s",
            strerror(-r));
    else
        close_ended(session, scan.containers->scans);
    now = pyusdt_now() - now;
    scan.containers->next =
        pyusdt_now() + (now * COST_SHARE > SCAN_NS ? now * COST_SHARE : SCAN_NS);
}

void pyusdt_containers_free(struct pyusdt_containers *containers)
{
    if (containers)
        free(containers->known);
    free(containers);
}
