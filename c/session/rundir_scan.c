/* Run directories that a session enters while it runs: see rundir_scan.h. */
#define _GNU_SOURCE
#include "session/rundir_scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "discovery/find_process.h"
#include "discovery/rundir_open.h"
#include "session/container_scan.h"
#include "session/session_dir.h"
#include "session/session_file.h"
#include "session/session_warnings.h"
#include "shared/error.h"

/* Of our own directory at once. */
static void warn_of_user(struct pyusdt_session *session, uint32_t uid, const char *why)
{
    if (uid == geteuid())
        pyusdt_session_warn(session, "processes of uid %u are not traced: %s", uid, why);
    else
        pyusdt_session_warn_untrusted(session, "processes of uid %u are not traced: %s", uid, why);
}

/* A user's directory, which is his, or left alone. */
static int add_user_rundir(void *arg, unsigned parent, uint32_t uid)
{
    struct pyusdt_session *session = arg;
    struct pyusdt_error error = {0, ""};
    struct pyusdt_rundir_handle in;
    struct pyusdt_session_dir *rundir;
    int r = pyusdt_rundir_open_of_user(parent, uid, &in, &error);

    if (r == 0)
        r = pyusdt_session_dir_open(session, &in, &rundir, &error);
    if (pyusdt_is_shortage(r)) {
        pyusdt_session_warn_failure(session, "processes of uid %u are not traced: %s", uid,
                                    error.message);
        session->missed_user = true;
    } else if (r != 0 && (session->header.flags & PYUSDT_SESSION_ALL)) {
        warn_of_user(session, uid, error.message);
    }
    return 0;
}

/* What failed when it was tried last. */
static void retry_failed(struct pyusdt_session *session, uint64_t now)
{
    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (session->rundir[i]->fd < 0 && !session->rundir[i]->cut_off &&
            now >= session->rundir[i]->retry_at)
            pyusdt_session_dir_take_slot(session, session->rundir[i], NULL);
}

/* Those in one place; the place is read again if the scan was not complete. */
static void scan_user_rundirs(struct pyusdt_session *session, unsigned parent)
{
    int r;

    session->missed_user = false;
    r = pyusdt_each_user_rundir(parent, &session->parents_mtime[parent], add_user_rundir, session);
    if (r < 0 && r != -ENOENT)
        pyusdt_session_warn_failure(
            session,
            "processes of other users are not traced: the folder of their run directories cannot be read: %s",
            strerror(-r));
    if (r < 0 || session->missed_user)
        session->parents_mtime[parent] = 0;
}

void pyusdt_session_scan_rundirs(struct pyusdt_session *session, uint64_t now)
{
    bool awaits = session->header.flags & PYUSDT_SESSION_ALL || session->expecting;

    for (uint32_t i = 0; i < session->nrundirs; i++)
        session->rundir[i]->lookups -= session->rundir[i]->lookups > 1 ? 2 : 0;
    if (!session->own || session->stopped || !awaits || pyusdt_rundir_from_environment())
        return;
    for (unsigned i = 0; i < PYUSDT_PARENTS && pyusdt_rundir_is_of_all_users(); i++)
        scan_user_rundirs(session, i);
    pyusdt_session_scan_containers(session, now);
    retry_failed(session, now);
}

/* A process that was named by pid, and goes there. */
static void invite_process_at(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                              uint32_t pid, uint32_t host)
{
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].rundir == rundir && session->pids[i].pid == pid)
            return;
    if (session->npids == PYUSDT_PIDS_MAX)
        return;
    session->pids[session->npids].rundir = rundir;
    session->pids[session->npids].pid = pid;
    session->pids[session->npids++].host = host;
    pyusdt_session_dir_invite(rundir, pid);
    if (rundir->fd >= 0)
        pyusdt_session_dir_write_header(rundir);
}

void pyusdt_session_follow_setuid(struct pyusdt_session *session,
                                  const struct pyusdt_session_dir *rundir, uint32_t pid,
                                  uint32_t host)
{
    int64_t uid = geteuid() == 0 && rundir->in.parent >= 0
                      ? pyusdt_read_process_uid(host ? host : pid)
                      : -ESRCH;
    struct pyusdt_error error = {0, ""};
    struct pyusdt_session_dir *other;
    struct pyusdt_rundir_handle in;
    int r;

    if (uid < 0 && pyusdt_is_shortage((int)uid))
        pyusdt_session_warn_failure(session,
                                    "process %u may have become another user, and be lost: %s",
                                    host ? host : pid, strerror((int)-uid));
    if (uid < 0 || (uint32_t)uid == rundir->in.uid)
        return;
    r = pyusdt_rundir_open_of_process(host ? host : pid, (unsigned)rundir->in.parent, true, &in,
                                      &error);
    if (r == 0)
        r = pyusdt_session_dir_open(session, &in, &other, &error);
    if (r != 0) {
        pyusdt_session_warn(session, "process %u has become uid %u, and may not be traced: %s",
                            host ? host : pid, (uint32_t)uid, error.message);
        return;
    }
    if (!(rundir->header.flags & PYUSDT_SESSION_ALL))
        invite_process_at(session, other, pid, host);
}
