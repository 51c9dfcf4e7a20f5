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
static void tell_of_user(struct pyusdt_session *session, uint32_t uid, const char *why)
{
    if (uid == geteuid())
        pyusdt_session_trouble(session, "processes of uid %u are not traced: %s", uid, why);
    else
        pyusdt_session_stranger(session, "processes of uid %u are not traced: %s", uid, why);
}

/* A user's directory, which is his, or left alone. */
static int add_user(void *arg, unsigned parent, uint32_t uid)
{
    struct pyusdt_session *session = arg;
    struct pyusdt_error error = {0, ""};
    struct pyusdt_entered in;
    struct pyusdt_base *base;
    int r = pyusdt_enter_user(parent, uid, &in, &error);

    if (r == 0)
        r = pyusdt_base_open(session, &in, &base, &error);
    if (pyusdt_is_shortage(r)) {
        pyusdt_session_failed(session, "processes of uid %u are not traced: %s", uid,
                              error.message);
        session->missed_user = true;
    } else if (r != 0 && (session->header.flags & PYUSDT_SESSION_ALL)) {
        tell_of_user(session, uid, error.message);
    }
    return 0;
}

/* What failed when it was tried last. */
static void retry(struct pyusdt_session *session, uint64_t now)
{
    for (uint32_t i = 0; i < session->nbases; i++)
        if (session->base[i]->fd < 0 && !session->base[i]->cut_off &&
            now >= session->base[i]->retry_at)
            pyusdt_base_settle(session, session->base[i], NULL);
}

/* Those in one place; the place is read again where the look was not complete. */
static void look_for_users(struct pyusdt_session *session, unsigned parent)
{
    int r;

    session->missed_user = false;
    r = pyusdt_users_each(parent, &session->parents_mtime[parent], add_user, session);
    if (r < 0 && r != -ENOENT)
        pyusdt_session_failed(
            session,
            "processes of other users are not traced: the folder of their run directories can not be read: %s",
            strerror(-r));
    if (r < 0 || session->missed_user)
        session->parents_mtime[parent] = 0;
}

void pyusdt_bases_look(struct pyusdt_session *session, uint64_t now)
{
    bool awaits = session->header.flags & PYUSDT_SESSION_ALL || session->expecting;

    for (uint32_t i = 0; i < session->nbases; i++)
        session->base[i]->lookups -= session->base[i]->lookups > 1 ? 2 : 0;
    if (!session->own || session->stopped || !awaits || pyusdt_rundir_from_environment())
        return;
    for (unsigned i = 0; i < PYUSDT_PARENTS && pyusdt_rundir_is_of_all_users(); i++)
        look_for_users(session, i);
    pyusdt_containers_look(session, now);
    retry(session, now);
}

/* A process that was named by pid, and goes there. */
static void invite_there(struct pyusdt_session *session, struct pyusdt_base *base, uint32_t pid,
                         uint32_t host)
{
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].base == base && session->pids[i].pid == pid)
            return;
    if (session->npids == PYUSDT_PIDS_MAX)
        return;
    session->pids[session->npids].base = base;
    session->pids[session->npids].pid = pid;
    session->pids[session->npids++].host = host;
    pyusdt_base_invite(base, pid);
    if (base->fd >= 0)
        pyusdt_base_write(base);
}

void pyusdt_base_follow(struct pyusdt_session *session, const struct pyusdt_base *base,
                        uint32_t pid, uint32_t host)
{
    int64_t uid =
        geteuid() == 0 && base->in.parent >= 0 ? pyusdt_process_uid(host ? host : pid) : -ESRCH;
    struct pyusdt_error error = {0, ""};
    struct pyusdt_base *other;
    struct pyusdt_entered in;
    int r;

    if (uid < 0 && pyusdt_is_shortage((int)uid))
        pyusdt_session_failed(session, "process %u may have become another user, and be lost: %s",
                              host ? host : pid, strerror((int)-uid));
    if (uid < 0 || (uint32_t)uid == base->in.uid)
        return;
    r = pyusdt_enter_process(host ? host : pid, (unsigned)base->in.parent, true, &in, &error);
    if (r == 0)
        r = pyusdt_base_open(session, &in, &other, &error);
    if (r != 0) {
        pyusdt_session_trouble(session, "process %u has become uid %u, and may not be traced: %s",
                               host ? host : pid, (uint32_t)uid, error.message);
        return;
    }
    if (!(base->header.flags & PYUSDT_SESSION_ALL))
        invite_there(session, other, pid, host);
}
