/* Finding processes that may join. Names of files are untrusted: the control file decides. */
#define _GNU_SOURCE
#include "session/target_scan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "discovery/find_process.h"
#include "session/rundir_scan.h"
#include "session/session_config.h"
#include "session/session_warnings.h"
#include "session/target_enable.h"
#include "session/target_list.h"
#include "session/target_process.h"
#include "session/thread_clock.h"
#include "shared/error.h"
#include "shared/os.h"

#define OTHERS_NAMED 4
#define AGAIN_NS 100000000u /* after which a directory is read again if a scan was not complete */

static bool may_join(const struct pyusdt_session *session, const struct pyusdt_session_dir *rundir,
                     uint32_t pid, uint32_t *host)
{
    *host = 0;
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].pid == pid &&
            (!session->pids[i].rundir || session->pids[i].rundir == rundir)) {
            *host = session->pids[i].host;
            return true;
        }
    return session->header.flags & (PYUSDT_SESSION_ALL | PYUSDT_SESSION_CHILDREN);
}

/* Where only processes that were named join, and their descendants: one of these, by what its control file says. */
static bool is_invited(const struct pyusdt_session *session,
                       const struct pyusdt_session_dir *rundir, const struct pyusdt_target *target)
{
    if (session->header.flags & PYUSDT_SESSION_ALL ||
        !(session->header.flags & PYUSDT_SESSION_CHILDREN))
        return true;
    for (unsigned i = 0; i < session->npids; i++)
        if ((!session->pids[i].rundir || session->pids[i].rundir == rundir) &&
            (session->pids[i].pid == target->who.pid ||
             pyusdt_is_ancestor(target->ancestors, session->pids[i].pid)))
            return true;
    return false;
}

static bool wants_comm(const struct pyusdt_session *session, const struct pyusdt_target *target)
{
    return !session->header.comm[0] ||
           strncmp(session->header.comm, target->comm, sizeof target->comm) == 0;
}

struct scan {
    struct pyusdt_session *session;
    struct pyusdt_session_dir *rundir;
};

/* A scan of a directory was not complete. */
static void scan_again_soon(struct pyusdt_session_dir *rundir)
{
    rundir->again_at = pyusdt_now() + AGAIN_NS;
}

static bool has_room(const struct pyusdt_session *session, const struct pyusdt_session_dir *rundir)
{
    return session->nliving < PYUSDT_TARGETS_MAX &&
           (rundir->in.uid == geteuid() || rundir->nliving < PYUSDT_UNTRUSTED_TARGETS_MAX);
}

/* In another user's directory, or in a container: a process that is not his. */
static bool is_foreign_process(const struct pyusdt_session_dir *rundir,
                               const struct pyusdt_target *target)
{
    bool strange = rundir->in.uid != geteuid() || rundir->in.mounts != 0;
    int64_t uid = strange && target->visible ? pyusdt_read_process_uid(target->pid) : -1;
    return uid >= 0 && uid != rundir->in.uid;
}

/* Of the first of them each, since there may be thousands. */
static void warn_other_build(struct pyusdt_session *session,
                             const struct pyusdt_session_dir *rundir,
                             const struct pyusdt_identity *who, const struct pyusdt_error *error)
{
    const uint32_t before = session->nwarnings;
    const int64_t uid = rundir->in.uid != geteuid() ? pyusdt_read_process_uid(who->pid) : -1;

    if (!pyusdt_is_alive(who) || (uid >= 0 && uid != rundir->in.uid))
        return;
    if (session->others < OTHERS_NAMED)
        pyusdt_session_warn(session, "%s", error->message);
    else
        pyusdt_session_warn(session,
                            "more processes have other builds of pyusdt: pyusdt doctor names them");
    session->others += session->nwarnings > before;
}

/* A process that is not ready is read again later; one that may not be read gives a warning if it is the tracer's own user's. */
static void warn_failure(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                         const struct pyusdt_identity *who, const struct pyusdt_error *error)
{
    bool shortage = pyusdt_is_shortage(error->code),
         gone = error->code == -ENOENT || error->code == -ESRCH;

    if (shortage)
        scan_again_soon(rundir);
    if (gone || error->code == -EPROTONOSUPPORT || error->code == -EAGAIN ||
        (!shortage && rundir->in.uid != geteuid()) || !pyusdt_is_alive(who))
        return;
    pyusdt_session_warn_failure(session, "process %u is not traced: %s", who->pid, error->message);
}

static int scan_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct pyusdt_session *session = ((struct scan *)arg)->session;
    struct pyusdt_session_dir *rundir = ((struct scan *)arg)->rundir;
    struct pyusdt_target *target;
    struct pyusdt_error error;
    bool joined;
    uint32_t host;

    if (name->kind != PYUSDT_FILE_CTL ||
        pyusdt_session_has_target(session, rundir, &name->process) ||
        !may_join(session, rundir, name->process.pid, &host))
        return 0;
    if (!has_room(session, rundir)) {
        pyusdt_session_warn(session, "not all processes of uid %u are traced: there are too many",
                            rundir->in.uid);
        return 0;
    }
    target = pyusdt_target_open(session, rundir, text, &name->process, host, &error);
    if (!target && error.code == -EPROTONOSUPPORT) {
        if (session->nwants > 0 && !session->stopped)
            warn_other_build(session, rundir, &name->process, &error);
        return 0;
    }
    if (!target) {
        warn_failure(session, rundir, &name->process, &error);
        return 0;
    }
    if (!is_invited(session, rundir, target) || is_foreign_process(rundir, target)) {
        pyusdt_target_free(target);
        return 0;
    }
    joined = atomic_load(&target->slot->wanted) == rundir->header.generation;
    if (!wants_comm(session, target) ||
        (!joined && (session->stopped || rundir->cut_off || pyusdt_target_is_dead(target) ||
                     atomic_load(&target->ctl->state) == PYUSDT_CTL_EXITED))) {
        pyusdt_target_free(target); /* it never heard of us, or we are done with it */
        return 0;
    }
    if (pyusdt_session_add_target(session, target) != 0) {
        pyusdt_target_free(target);
        pyusdt_session_warn_failure(session, "process %u is not traced: %s", name->process.pid,
                                    strerror(ENOMEM));
        scan_again_soon(rundir);
        return 0;
    }
    if (session->stopped || rundir->cut_off) {
        pyusdt_target_detach(target);
    } else {
        if (session->own && target->visible)
            pyusdt_session_follow_setuid(
                session, rundir, name->process.pid,
                target->pid); /* before it can look for the session there */
        pyusdt_target_attach(session, target);
    }
    return 0;
}

static int64_t timespec_ns(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_unchanged(const struct pyusdt_session_dir *rundir, int64_t modified)
{
    return modified == rundir->scanned_mtime &&
           rundir->scanned_at - rundir->scanned_mtime > PYUSDT_MTIME_GRAIN_NS &&
           (rundir->again_at == 0 || pyusdt_now() < rundir->again_at);
}

static void scan_failed(struct pyusdt_session *session, struct pyusdt_session_dir *rundir, int r)
{
    pyusdt_session_warn_failure(session,
                                "not all processes of uid %u are traced: %s cannot be read: %s",
                                rundir->in.uid, rundir->in.path, strerror(-r));
    scan_again_soon(rundir);
}

/* Unless the directory is as it was when it was read, and was not being changed then, or nobody joins any more. */
static void scan_rundir(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                        bool always)
{
    struct scan scan = {session, rundir};
    struct timespec now;
    struct stat st;
    uint64_t begun;
    int r;

    if (!rundir->started)
        return;
    if (fstat(rundir->in.dir, &st) != 0) {
        scan_failed(session, rundir, -errno);
        return;
    }
    if (!always && (session->stopped || is_unchanged(rundir, timespec_ns(pyusdt_os_mtime(&st)))))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    rundir->scanned_at = timespec_ns(now);
    rundir->scanned_mtime = timespec_ns(pyusdt_os_mtime(&st));
    rundir->again_at = 0;
    begun = pyusdt_thread_ns();
    r = pyusdt_rundir_each(rundir->in.dir, scan_file, &scan);
    rundir->ns += pyusdt_thread_ns() - begun;
    if (r == -E2BIG)
        pyusdt_session_warn(session, "not all processes of uid %u are traced: too many files in %s",
                            rundir->in.uid, rundir->in.path);
    else if (r < 0)
        scan_failed(session, rundir, r);
}

void pyusdt_session_scan(struct pyusdt_session *session, bool always)
{
    if (session->forked)
        return;
    /* A process that publishes from here on sees what was written; one that did before is seen. */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < session->nrundirs; i++) /* one that comes meanwhile is behind */
        if (!session->rundir[i]->cut_off)
            scan_rundir(session, session->rundir[i], always);
}

void pyusdt_session_dir_scan(struct pyusdt_session *session, struct pyusdt_session_dir *rundir)
{
    atomic_thread_fence(memory_order_seq_cst);
    scan_rundir(session, rundir, true);
}
