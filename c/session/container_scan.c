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

#define LOOK_NS 200000000u /* the time between two looks, at least; */
#define COST_SHARE 50      /* it is as many times as long as the look took */
#define YOUNG_NS \
    10000000000 /* so long a process may still become one with pyusdt in it that is to be told of */
#define PIDS_MAX (1u << 22) /* Linux has no more */

struct known { /* where a look has been */
    uint64_t mounts;
    uint32_t uid;
};

struct pyusdt_containers {
    uint64_t next;
    uint32_t looks;
    struct known *known;
    uint32_t nknown, room;
    uint8_t examined[PIDS_MAX /
                     8]; /* by pid: processes that need no second look at what they have mapped */
};

struct look {
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

static void note(struct pyusdt_containers *containers, uint64_t mounts, uint32_t uid)
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

static void enter(struct pyusdt_session *session, const struct pyusdt_seen *seen)
{
    struct pyusdt_error error = {0, ""};
    struct pyusdt_entered in;
    struct pyusdt_base *base;

    for (unsigned parent = 0; parent < PYUSDT_PARENTS; parent++) {
        int entered = pyusdt_enter_of(seen, parent, false, &in, &error), r = entered;
        if (entered == 0)
            r = pyusdt_base_open(session, &in, &base, &error);
        if (pyusdt_is_shortage(r))
            pyusdt_session_failed(session, NOT_TRACED, seen->uid, seen->pid, error.message);
        else if (entered == 0 && r != 0)
            pyusdt_session_stranger(session, NOT_TRACED, seen->uid, seen->pid, error.message);
    }
}

/* Not of those that have no pyusdt in them, or that end just now. */
static void tell(struct pyusdt_session *session, uint32_t pid)
{
    struct pyusdt_error error = {0, ""};
    struct pyusdt_process_file found;
    struct pyusdt_base *base;
    int r = pyusdt_process_find((pid_t)pid, &found, &error);

    if (r == 0)
        r = pyusdt_base_open(session, &found.in, &base, &error);
    if (pyusdt_is_shortage(r))
        pyusdt_session_failed(session, "%s", error.message);
    else if (r != 0 && r != -ENODATA && r != -ESRCH)
        pyusdt_session_stranger(session, "%s", error.message);
}

static void look_closer(struct pyusdt_session *session, struct pyusdt_containers *containers,
                        const struct pyusdt_seen *seen)
{
    if (geteuid() != 0 && seen->uid != geteuid())
        return;
    if (!is_known(containers, seen->mounts, seen->uid)) {
        note(containers, seen->mounts, seen->uid);
        enter(session, seen);
    }
    if (is_examined(containers, seen->pid))
        return;
    tell(session, seen->pid);
    if (pyusdt_seen_age(seen) > YOUNG_NS)
        containers->examined[seen->pid / 8] |= (uint8_t)(1 << seen->pid % 8);
}

/* Who shows root as its owner may be anybody who has changed his uid. */
static int look_at(void *arg, uint32_t pid, uint64_t mounts, uint32_t owner)
{
    struct pyusdt_session *session = ((struct look *)arg)->session;
    struct pyusdt_containers *containers = ((struct look *)arg)->containers;
    struct pyusdt_seen seen;
    int r;

    for (uint32_t i = 0; i < session->nbases; i++)
        if (session->base[i]->in.mounts == mounts)
            session->base[i]->met = containers->looks;
    if (owner != 0 && is_examined(containers, pid) && is_known(containers, mounts, owner))
        return 0;
    r = pyusdt_seen_open(pid, &seen);
    if (pyusdt_is_shortage(r))
        pyusdt_session_failed(session, "process %u, in a container, can not be looked at: %s", pid,
                              strerror(-r));
    if (r != 0)
        return 0;
    if (seen.mounts != 0)
        look_closer(session, containers, &seen);
    pyusdt_seen_close(&seen);
    return 0;
}

/* ---- all of them ---- */

static bool is_named(const struct pyusdt_session *session, const struct pyusdt_base *base)
{
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].base == base)
            return true;
    return false;
}

/* Places of containers that have ended: what is open there keeps their file systems. */
static void leave_ended(struct pyusdt_session *session, uint32_t looks)
{
    for (uint32_t i = session->nbases - 1; i > 0; i--) {
        struct pyusdt_base *base = session->base[i];
        if (base->met == 0) /* it is of this very look */
            base->met = looks;
        if (base->in.mounts == 0 || base->met == looks || base->nliving != 0 ||
            is_named(session, base))
            continue;
        session->base[i] = session->base[--session->nbases];
        pyusdt_base_close(base);
        close(base->in.dir);
        free(base);
    }
}

void pyusdt_containers_look(struct pyusdt_session *session, uint64_t now)
{
    struct look look = {session, session->containers};
    int r;

    if (!look.containers)
        look.containers = session->containers = calloc(1, sizeof *look.containers);
    if (!look.containers)
        pyusdt_session_failed(session, "processes in containers are not traced: %s",
                              strerror(ENOMEM));
    if (!look.containers || now < look.containers->next)
        return;
    look.containers->looks++;
    look.containers->nknown = 0;
    r = pyusdt_elsewhere_each(look_at, &look);
    if (pyusdt_is_shortage(r))
        pyusdt_session_failed(session,
                              "processes in containers are not traced: /proc can not be read: %s",
                              strerror(-r));
    else
        leave_ended(session, look.containers->looks);
    now = pyusdt_now() - now;
    look.containers->next =
        pyusdt_now() + (now * COST_SHARE > LOOK_NS ? now * COST_SHARE : LOOK_NS);
}

void pyusdt_containers_free(struct pyusdt_containers *containers)
{
    if (containers)
        free(containers->known);
    free(containers);
}
