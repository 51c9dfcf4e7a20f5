/*
 * A session's bases: the run directories in which it has a slot, and the session file there.
 *
 * In:  the directory that the session was opened with; for root, those of every user, as they come; those of processes
 *      that were named.
 * Out: bases in which the session is started, or, where that can not be, what the user is to be told.
 * Always: a directory of another user is believed to be nothing but that: it must be his who has the name, closed to
 * others; what is wrong with it costs his events alone. The session file is written with pwrite(), never mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "shared/os.h"
#include "discovery/find_process.h"
#include "session/session_state.h"

#define RETRY_NS 1000000000u /* how often a slot is tried for where all were taken */
#define ERRNO_MAX 4095
#define ADVICE_SIZE 384
#define REASON_SIZE (ADVICE_SIZE + 128)

/* ---- what the user is to be told ---- */

static char no_memory[] =
    "a message about processes that are not traced is lost: there was no memory for it";

/* Once each; who makes more of it than fits is not worth more words. Whether it is new. */
__attribute__((format(printf, 2, 0))) static bool add_trouble(struct pyusdt_session *session,
                                                              const char *format, va_list values)
{
    char text[2 * PYUSDT_PATH_SIZE], *kept;
    bool more = session->full;

    vsnprintf(text, sizeof text, format, values);
    for (uint32_t i = 0; i < session->ntroubles; i++)
        if (strcmp(session->trouble[i], text) == 0)
            return false;
    session->full = session->ntroubles == PYUSDT_TROUBLES_MAX;
    if (session->full)
        return !more;
    kept = strdup(text);
    session->trouble[session->ntroubles++] = kept ? kept : no_memory;
    return true;
}

void pyusdt_session_trouble(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add_trouble(session, format, values);
    va_end(values);
}

void pyusdt_session_failed(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    session->failures += add_trouble(session, format, values);
    va_end(values);
}

void pyusdt_troubles_free(struct pyusdt_session *session)
{
    for (uint32_t i = 0; i < session->ntroubles; i++)
        if (session->trouble[i] != no_memory)
            free(session->trouble[i]);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

void pyusdt_session_stranger(struct pyusdt_session *session, const char *format, ...)
{
    char text[2 * PYUSDT_PATH_SIZE];
    va_list values;
    uint64_t hash;
    uint32_t n = session->strangers.n;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    hash = hash_of(text);
    for (uint32_t i = 0; i < n; i++)
        if (session->strangers.hash[i] == hash)
            return;
    if (n == PYUSDT_STRANGERS_COUNTED ||
        (n < PYUSDT_STRANGERS_TOLD && !(session->strangers.text[n] = strdup(text))))
        return;
    session->strangers.hash[session->strangers.n++] = hash;
}

const char *pyusdt_session_stranger_told(const struct pyusdt_session *session, uint32_t n,
                                         uint32_t *count)
{
    *count = session->strangers.n;
    return n < session->strangers.n && n < PYUSDT_STRANGERS_TOLD ? session->strangers.text[n]
                                                                 : NULL;
}

const char *pyusdt_session_told(const struct pyusdt_session *session, uint32_t n)
{
    return n < session->ntroubles ? session->trouble[n] : NULL;
}

/* What can be done where a file system is full. */
static const char *advise(int dir, char *text, size_t size)
{
    const unsigned needed =
        (unsigned)((sizeof(struct pyusdt_area) + PYUSDT_RING_START + 1023) / 1024);
    struct statvfs fs;

    text[0] = '\0';
    if (fstatvfs(dir, &fs) == 0)
        snprintf(
            text, size,
            " (%llu of its file system's %llu KiB are free; a process needs %u, and up to bufsize for each thread). "
            "Make room there, let buffers be smaller (-b 64k), or set PYUSDT_RUNDIR, for pydtrace and for what it traces, "
            "to a directory elsewhere",
            (unsigned long long)fs.f_bavail * fs.f_frsize / 1024,
            (unsigned long long)fs.f_blocks * fs.f_frsize / 1024, needed);
    return text;
}

/* Why a process has not all of its buffers, and what can be done. */
static void explain(int error, int dir, char *text, size_t size)
{
    char advice[ADVICE_SIZE];

    switch (-error) {
    case ENOSPC:
        snprintf(text, size, "%s%s", strerror(ENOSPC), advise(dir, advice, sizeof advice));
        break;
    case PYUSDT_KEEPS_FILE_SPACE:
        snprintf(text, size, "what is free of the file system is kept for the program%s",
                 advise(dir, advice, sizeof advice));
        break;
    case PYUSDT_KEEPS_MEMORY:
        snprintf(
            text, size,
            "what is free below the limit of its memory (its cgroup's, or the machine's) is kept for the program. "
            "Raise the limit, or let buffers be smaller (-b 64k)");
        break;
    case PYUSDT_KEEPS_ADDRESSES:
        snprintf(
            text, size,
            "what is free below the limit of its address space (ulimit -v) is kept for the program. "
            "Raise the limit, or let buffers be smaller (-b 64k)");
        break;
    case EFBIG:
        snprintf(text, size,
                 "its limit for the size of a file (ulimit -f) is less than that of a buffer. "
                 "Raise the limit, or let buffers be smaller (-b 64k)");
        break;
    default:
        snprintf(text, size, "%s", strerror(-error));
    }
}

/* The process could not do all that the session wants: of its events some are lost, and counted. */
void pyusdt_base_failed(struct pyusdt_session *session, struct pyusdt_target *target)
{
    bool none = !target->area;
    int error = none ? atomic_load(&target->slot->error) : atomic_load(&target->area->error);
    char reason[REASON_SIZE];

    if (target->failed_told || error >= 0 || error < -ERRNO_MAX ||
        (none && atomic_load(&target->slot->state) != PYUSDT_SLOT_FAILED) ||
        pyusdt_target_dropped(session, target) == 0)
        return;
    target->failed_told = true;
    explain(error, target->base->in.dir, reason, sizeof reason);
    pyusdt_session_trouble(session, "process %u can not make %s in %s: %s", target->pid,
                           none ? "its buffers" : "larger buffers", target->base->in.path, reason);
}

void pyusdt_base_child_failed(struct pyusdt_session *session, const struct pyusdt_target *target)
{
    int error = atomic_load(&target->slot->child_error);

    if (error < 0 && error >= -ERRNO_MAX)
        pyusdt_session_trouble(
            session,
            "what a process that %u has forked fires is lost: it can not make its control file: %s",
            target->pid, strerror(-error));
}

/* ---- the session file ---- */

static int write_at(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t n = pwrite(fd, bytes, size, at);
    return n == (ssize_t)size ? 0 : n < 0 ? -errno : -ENOSPC;
}

int pyusdt_base_write(struct pyusdt_base *base)
{
    return write_at(base->fd, &base->header, sizeof base->header, 0);
}

/* Not one whose session goes on without its tracer. */
static int claim_slot(int dir, uint32_t slot)
{
    struct pyusdt_session_header header;
    int fd = pyusdt_slot_claim(dir, slot);

    if (fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        pyusdt_session_is_kept(&header)) {
        close(fd);
        return -EWOULDBLOCK;
    }
    return fd;
}

static int claim(struct pyusdt_base *base, struct pyusdt_error *error)
{
    char advice[ADVICE_SIZE];
    int fd = -EWOULDBLOCK;

    for (uint32_t slot = 0; fd == -EWOULDBLOCK && slot < PYUSDT_MAX_SESSIONS; slot++) {
        fd = claim_slot(base->in.dir, slot);
        base->header.slot = slot;
    }
    if (fd == -EWOULDBLOCK)
        return pyusdt_error_set(error, -EBUSY,
                                "all %d session slots of the run directory are taken",
                                PYUSDT_MAX_SESSIONS);
    if (fd < 0)
        return pyusdt_error_set(error, fd, "can not make a session file in %s: %s%s", base->in.path,
                                strerror(-fd),
                                fd == -ENOSPC ? advise(base->in.dir, advice, sizeof advice) : "");
    base->fd = fd;
    return 0;
}

/* Resumes the kept session that is there, or takes a slot for one that begins. */
static int take_slot(const struct pyusdt_session *session, struct pyusdt_base *base,
                     struct pyusdt_error *error)
{
    int r = pyusdt_keep_resume(session, base, error), written;
    char advice[ADVICE_SIZE];

    if (r == 0)
        r = claim(base, error);
    written = r < 0 ? 0 : pyusdt_base_write(base);
    if (written != 0)
        r = pyusdt_error_set(error, written, "can not write the session file in %s: %s%s",
                             base->in.path, strerror(-written),
                             written == -ENOSPC ? advise(base->in.dir, advice, sizeof advice) : "");
    if (r < 0 && base->fd >= 0) {
        pyusdt_slot_release(base->in.dir, base->header.slot, base->fd);
        base->fd = -1;
    }
    if (r >= 0)
        pyusdt_sweep(base->in.dir, base->header.slot);
    return r < 0 ? r : 0;
}

/* ---- a base's life ---- */

/* One of its own in each directory: a process that moves from one to another tells them apart. */
static int make_generation(struct pyusdt_session_header *header)
{
    do
        if (pyusdt_os_random(&header->generation, sizeof header->generation) != 0)
            return -EIO;
    while (PYUSDT_FAILED_TAG(header->generation) == 0);
    return 0;
}

static struct pyusdt_base *new_base(struct pyusdt_session *session, const struct pyusdt_entered *in)
{
    struct pyusdt_base *base = session->nbases < PYUSDT_BASES_MAX ? calloc(1, sizeof *base) : NULL;
    uint64_t generation;

    if (!base || make_generation(&base->header) != 0) {
        free(base);
        return NULL;
    }
    generation = base->header.generation;
    base->in = *in;
    base->fd = -1;
    base->header = session->header;
    base->header.generation = generation;
    for (unsigned i = 0; i < session->npids; i++)
        if (!session->pids[i].base)
            pyusdt_base_invite(base, session->pids[i].pid);
    base->cut_off = pyusdt_user_is_cut_off(session, in->uid);
    session->base[session->nbases++] = base;
    return base;
}

/* That of this directory, by whatever path. */
static struct pyusdt_base *known_base(const struct pyusdt_session *session, int dir)
{
    struct stat ours, theirs;

    for (uint32_t i = 0; i < session->nbases; i++)
        if (fstat(session->base[i]->in.dir, &ours) == 0 && fstat(dir, &theirs) == 0 &&
            ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
            return session->base[i];
    return NULL;
}

/* Takes a slot there, and starts if the session has. */
static int settle(struct pyusdt_session *session, struct pyusdt_base *base,
                  struct pyusdt_error *error)
{
    int r;

    base->retry_at = pyusdt_now() + RETRY_NS;
    pyusdt_forks_wait();
    r = take_slot(session, base, error);
    pyusdt_forks_go();
    if (r == 0 && session->started && !session->stopped)
        r = pyusdt_base_start(session, base, error);
    return r;
}

/* The base of this directory, which is ours to close: the one that the session has already, or a new one. */
int pyusdt_base_open(struct pyusdt_session *session, const struct pyusdt_entered *in,
                     struct pyusdt_base **out, struct pyusdt_error *error)
{
    struct pyusdt_base *base = session->forked ? NULL : known_base(session, in->dir);

    if (session->forked || base)
        close(in->dir);
    else if (!(base = new_base(session, in))) {
        close(in->dir);
        return pyusdt_error_set(error, -ENOMEM, "no room for the run directory %s", in->path);
    }
    if (session->forked)
        return pyusdt_session_is_forked(error);
    *out = base;
    return base->fd >= 0 || base->cut_off ? 0 : settle(session, base, error);
}

int pyusdt_base_start(const struct pyusdt_session *session, struct pyusdt_base *base,
                      struct pyusdt_error *error)
{
    size_t size = session->nwants * sizeof *session->wants;
    int r = 0;

    if (base->resumed && pyusdt_keep_check_wants(session, base, error) != 0)
        return -EINVAL;
    base->header.nwants = session->nwants;
    base->header.seen = pyusdt_now();
    if (size != 0)
        r = write_at(base->fd, session->wants, size, sizeof base->header);
    PYUSDT_HOOK(35);
    base->header.state = PYUSDT_SESSION_STARTED;
    if (r == 0)
        r = pyusdt_base_write(base);
    PYUSDT_HOOK(36);
    if (r != 0)
        return pyusdt_error_set(error, r, "can not start the session: %s", strerror(-r));
    base->started = true;
    return 0;
}

void pyusdt_base_invite(struct pyusdt_base *base, uint32_t pid)
{
    for (unsigned i = 0; i < PYUSDT_PIDS_MAX; i++)
        if (base->header.pids[i] == 0 || base->header.pids[i] == pid) {
            base->header.pids[i] = pid;
            return;
        }
}

void pyusdt_base_close(struct pyusdt_base *base)
{
    if (base->started)
        pyusdt_sweep(base->in.dir,
                     base->header.slot); /* of targets whose death was not noticed any more */
    if (base->fd >= 0 && base->resumed && !base->started)
        close(base->fd); /* another's script, and not ours to end */
    else if (base->fd >= 0)
        pyusdt_slot_release(base->in.dir, base->header.slot, base->fd);
    base->fd = -1;
}

/* ---- the users' directories ---- */

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
            settle(session, session->base[i], NULL);
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
    if (!session->own || session->stopped || !awaits || pyusdt_rundir_named())
        return;
    for (unsigned i = 0; i < PYUSDT_PARENTS && pyusdt_rundir_of_all(); i++)
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

/*
 * A process that is not its directory's owner any more (setuid) publishes itself anew when it finds that it can not use that:
 * in its new user's directory, which is made here (as that user) if need be, so that the session is there already.
 */
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
