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

#define OTHERS_TOLD 4
#define AGAIN_NS \
    100000000u /* after which a directory is read again where a look was not complete */

static bool may_join(const struct pyusdt_session *session, const struct pyusdt_base *base,
                     uint32_t pid, uint32_t *host)
{
    *host = 0;
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].pid == pid &&
            (!session->pids[i].base || session->pids[i].base == base)) {
            *host = session->pids[i].host;
            return true;
        }
    return session->header.flags & (PYUSDT_SESSION_ALL | PYUSDT_SESSION_CHILDREN);
}

/* Where only processes that were named join, and their descendants: one of these, by what its control file says. */
static bool is_meant(const struct pyusdt_session *session, const struct pyusdt_base *base,
                     const struct pyusdt_target *target)
{
    if (session->header.flags & PYUSDT_SESSION_ALL ||
        !(session->header.flags & PYUSDT_SESSION_CHILDREN))
        return true;
    for (unsigned i = 0; i < session->npids; i++)
        if ((!session->pids[i].base || session->pids[i].base == base) &&
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
    struct pyusdt_base *base;
};

/* A look at a directory was not complete. */
static void look_again(struct pyusdt_base *base)
{
    base->again_at = pyusdt_now() + AGAIN_NS;
}

static bool has_room(const struct pyusdt_session *session, const struct pyusdt_base *base)
{
    return session->nliving < PYUSDT_TARGETS_MAX &&
           (base->in.uid == geteuid() || base->nliving < PYUSDT_STRANGERS_MAX);
}

/* In another user's directory, or in a container: a process that is not his. */
static bool is_lie(const struct pyusdt_base *base, const struct pyusdt_target *target)
{
    bool strange = base->in.uid != geteuid() || base->in.mounts != 0;
    int64_t uid = strange && target->visible ? pyusdt_process_uid(target->pid) : -1;
    return uid >= 0 && uid != base->in.uid;
}

/* Of the first of them each, since there may be thousands. */
static void tell_other_build(struct pyusdt_session *session, const struct pyusdt_base *base,
                             const struct pyusdt_identity *who, const struct pyusdt_error *error)
{
    const uint32_t told = session->ntroubles;
    const int64_t uid = base->in.uid != geteuid() ? pyusdt_process_uid(who->pid) : -1;

    if (!pyusdt_is_alive(who) || (uid >= 0 && uid != base->in.uid))
        return;
    if (session->others < OTHERS_TOLD)
        pyusdt_session_trouble(session, "%s", error->message);
    else
        pyusdt_session_trouble(
            session, "more processes have other builds of pyusdt: pyusdt doctor names them");
    session->others += session->ntroubles > told;
}

/* One that is not ready, or not ours to read, is passed over: the first is looked at again, the second is told of where it is our own user's. */
static void tell_failure(struct pyusdt_session *session, struct pyusdt_base *base,
                         const struct pyusdt_identity *who, const struct pyusdt_error *error)
{
    bool shortage = pyusdt_is_shortage(error->code),
         gone = error->code == -ENOENT || error->code == -ESRCH;

    if (shortage)
        look_again(base);
    if (gone || error->code == -EPROTONOSUPPORT || error->code == -EAGAIN ||
        (!shortage && base->in.uid != geteuid()) || !pyusdt_is_alive(who))
        return;
    pyusdt_session_failed(session, "process %u is not traced: %s", who->pid, error->message);
}

static int scan_one(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct pyusdt_session *session = ((struct scan *)arg)->session;
    struct pyusdt_base *base = ((struct scan *)arg)->base;
    struct pyusdt_target *target;
    struct pyusdt_error error;
    bool joined;
    uint32_t host;

    if (name->kind != PYUSDT_FILE_CTL || pyusdt_session_knows(session, base, &name->process) ||
        !may_join(session, base, name->process.pid, &host))
        return 0;
    if (!has_room(session, base)) {
        pyusdt_session_trouble(
            session, "not all processes of uid %u are traced: there are too many", base->in.uid);
        return 0;
    }
    target = pyusdt_target_open(session, base, text, &name->process, host, &error);
    if (!target && error.code == -EPROTONOSUPPORT) {
        if (session->nwants > 0 && !session->stopped)
            tell_other_build(session, base, &name->process, &error);
        return 0;
    }
    if (!target) {
        tell_failure(session, base, &name->process, &error);
        return 0;
    }
    if (!is_meant(session, base, target) || is_lie(base, target)) {
        pyusdt_target_free(target);
        return 0;
    }
    joined = atomic_load(&target->slot->wanted) == base->header.generation;
    if (!wants_comm(session, target) ||
        (!joined && (session->stopped || base->cut_off || pyusdt_target_is_dead(target) ||
                     atomic_load(&target->ctl->state) == PYUSDT_CTL_EXITED))) {
        pyusdt_target_free(target); /* it never heard of us, or we are done with it */
        return 0;
    }
    if (pyusdt_session_add_target(session, target) != 0) {
        pyusdt_target_free(target);
        pyusdt_session_failed(session, "process %u is not traced: %s", name->process.pid,
                              strerror(ENOMEM));
        look_again(base);
        return 0;
    }
    if (session->stopped || base->cut_off) {
        pyusdt_target_detach(target);
    } else {
        if (session->own && target->visible)
            pyusdt_base_follow(session, base, name->process.pid,
                               target->pid); /* before it can look for us there */
        pyusdt_target_attach(session, target);
    }
    return 0;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_as_it_was(const struct pyusdt_base *base, int64_t modified)
{
    return modified == base->scanned_mtime &&
           base->scanned_at - base->scanned_mtime > PYUSDT_MTIME_GRAIN_NS &&
           (base->again_at == 0 || pyusdt_now() < base->again_at);
}

static void scan_failed(struct pyusdt_session *session, struct pyusdt_base *base, int r)
{
    pyusdt_session_failed(session, "not all processes of uid %u are traced: %s can not be read: %s",
                          base->in.uid, base->in.path, strerror(-r));
    look_again(base);
}

/* Unless the directory is as it was when it was read, and was not being changed then, or nobody joins any more. */
static void scan_base(struct pyusdt_session *session, struct pyusdt_base *base, bool always)
{
    struct scan scan = {session, base};
    struct timespec now;
    struct stat st;
    uint64_t begun;
    int r;

    if (!base->started)
        return;
    if (fstat(base->in.dir, &st) != 0) {
        scan_failed(session, base, -errno);
        return;
    }
    if (!always && (session->stopped || is_as_it_was(base, nanoseconds(pyusdt_os_mtime(&st)))))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    base->scanned_at = nanoseconds(now);
    base->scanned_mtime = nanoseconds(pyusdt_os_mtime(&st));
    base->again_at = 0;
    begun = pyusdt_thread_ns();
    r = pyusdt_rundir_each(base->in.dir, scan_one, &scan);
    base->ns += pyusdt_thread_ns() - begun;
    if (r == -E2BIG)
        pyusdt_session_trouble(session,
                               "not all processes of uid %u are traced: too many files in %s",
                               base->in.uid, base->in.path);
    else if (r < 0)
        scan_failed(session, base, r);
}

void pyusdt_session_scan(struct pyusdt_session *session, bool always)
{
    if (session->forked)
        return;
    /* Who publishes from here on sees what we wrote; who did before, we see. */
    atomic_thread_fence(memory_order_seq_cst);
    for (uint32_t i = 0; i < session->nbases; i++) /* one that comes meanwhile is behind */
        if (!session->base[i]->cut_off)
            scan_base(session, session->base[i], always);
}

void pyusdt_base_scan(struct pyusdt_session *session, struct pyusdt_base *base)
{
    atomic_thread_fence(memory_order_seq_cst);
    scan_base(session, base, true);
}
