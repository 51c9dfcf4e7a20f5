/*
 * Sessions: claiming a slot, telling targets what is wanted, finding them, leaving without a trace.
 * The session file is written with pwrite() only; targets read it the same way, never mapped.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/os.h"
#include "tracer/process.h"
#include "tracer/tracer.h"

#define ORDERLAG_DEFAULT_NS 100000000u
#define MTIME_GRAIN_NS 50000000 /* a directory's mtime tells two changes apart if they are this far from each other */

/* ---- the session file ---- */

static int write_at(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t n = pwrite(fd, bytes, size, at);
    return n == (ssize_t)size ? 0 : n < 0 ? -errno : -ENOSPC;
}

int pyusdt_session_write(struct pyusdt_session *session)
{
    return write_at(session->fd, &session->header, sizeof session->header, 0);
}

static int write_state(struct pyusdt_session *session, uint32_t state)
{
    session->header.state = state;
    return pyusdt_session_write(session);
}

/* Not one whose session goes on without its tracer. */
static int claim_slot(int dir, uint32_t slot)
{
    struct pyusdt_session_header header;
    int fd = pyusdt_slot_claim(dir, slot);

    if (fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && pyusdt_session_is_kept(&header)) {
        close(fd);
        return -EWOULDBLOCK;
    }
    return fd;
}

static int claim(struct pyusdt_session *session, struct pyusdt_error *error)
{
    int fd = -EWOULDBLOCK;

    for (uint32_t slot = 0; fd == -EWOULDBLOCK && slot < PYUSDT_MAX_SESSIONS; slot++) {
        fd = claim_slot(session->dir, slot);
        session->header.slot = slot;
    }
    if (fd == -EWOULDBLOCK)
        return pyusdt_error_set(error, -EBUSY, "all %d session slots of the run directory are taken",
                                PYUSDT_MAX_SESSIONS);
    if (fd < 0)
        return pyusdt_error_set(error, fd, "can not make a session file: %s", strerror(-fd));
    session->fd = fd;
    return 0;
}

static int configure(struct pyusdt_session *session, const struct pyusdt_session_config *config)
{
    struct pyusdt_session_header *header = &session->header;
    uint64_t bufsize = config && config->bufsize ? config->bufsize : PYUSDT_RING_DEFAULT, size = PYUSDT_RING_MIN;

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
    session->orderlag = config && config->orderlag_ns ? config->orderlag_ns : ORDERLAG_DEFAULT_NS;
    do
        if (pyusdt_os_random(&header->generation, sizeof header->generation) != 0)
            return -EIO;
    while (PYUSDT_FAILED_TAG(header->generation) == 0);
    return 0;
}

int pyusdt_session_open(const char *rundir, const struct pyusdt_session_config *config, struct pyusdt_session **out,
                        struct pyusdt_error *error)
{
    struct pyusdt_session *session = calloc(1, sizeof *session);
    char own[PYUSDT_PATH_SIZE];
    int r = 0;

    if (!session)
        return pyusdt_error_set(error, -ENOMEM, "no memory for a session");
    session->dir = session->fd = -1;
    if (!rundir) {
        r = pyusdt_rundir(own, sizeof own, error);
        rundir = own;
    }
    if (r == 0) {
        session->dir = pyusdt_rundir_open(rundir, error);
        r = session->dir < 0 ? session->dir : 0;
    }
    if (r == 0 && configure(session, config) != 0)
        r = pyusdt_error_set(error, -EIO, "no random numbers for a session");
    if (r == 0)
        r = pyusdt_keep_configure(session, config, error);
    if (r == 0)
        r = pyusdt_keep_resume(session, error);
    if (r == 0)
        r = claim(session, error);
    if (r == 0 && !session->resumed && write_state(session, PYUSDT_SESSION_MAKING) != 0)
        r = pyusdt_error_set(error, -ENOSPC, "can not write the session file in %s", rundir);
    if (r < 0) {
        pyusdt_session_close(session);
        return r;
    }
    pyusdt_sweep(session->dir, session->header.slot);
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
    return 0;
}

int pyusdt_session_start(struct pyusdt_session *session, struct pyusdt_error *error)
{
    size_t size = session->nwants * sizeof *session->wants;
    int r = session->started ? -EALREADY : 0;

    if (session->resumed && pyusdt_keep_check_wants(session, error) != 0)
        return -EINVAL;
    session->header.nwants = session->nwants;
    session->header.seen = pyusdt_now();
    if (r == 0 && size != 0)
        r = write_at(session->fd, session->wants, size, sizeof session->header);
    PYUSDT_HOOK(35);
    if (r == 0)
        r = write_state(session, PYUSDT_SESSION_STARTED);
    PYUSDT_HOOK(36);
    if (r != 0)
        return pyusdt_error_set(error, r, "can not start the session: %s", strerror(-r));
    session->started = true;
    session->looked = pyusdt_now();
    return pyusdt_session_scan(session, true);
}

/* ---- who may join ---- */

int pyusdt_session_attach_all(struct pyusdt_session *session, struct pyusdt_error *error)
{
    int r;

    session->header.all = 1;
    r = write_state(session, session->header.state);
    if (r != 0)
        return pyusdt_error_set(error, r, "can not write the session file: %s", strerror(-r));
    return session->started ? pyusdt_session_scan(session, true) : 0;
}

static int invite(struct pyusdt_session *session, uint32_t inner, uint32_t host, struct pyusdt_error *error)
{
    int r;

    if (session->npids == PYUSDT_PIDS_MAX)
        return pyusdt_error_set(error, -E2BIG, "a session names %d processes at most", PYUSDT_PIDS_MAX);
    session->pids[session->npids].pid = inner;
    session->pids[session->npids].host = host;
    session->header.pids[session->npids++] = inner;
    r = write_state(session, session->header.state);
    if (r != 0)
        return pyusdt_error_set(error, r, "can not write the session file: %s", strerror(-r));
    return session->started ? pyusdt_session_scan(session, true) : 0;
}

int pyusdt_session_expect_pid(struct pyusdt_session *session, pid_t pid, struct pyusdt_error *error)
{
    return invite(session, (uint32_t)pid, 0, error);
}

int pyusdt_session_attach_pid(struct pyusdt_session *session, pid_t pid, struct pyusdt_error *error)
{
    struct pyusdt_process_file found;
    struct stat ours, theirs;
    int r = pyusdt_process_find(pid, &found, error);

    if (r != 0)
        return r;
    if (stat(found.directory, &theirs) != 0 || fstat(session->dir, &ours) != 0 || ours.st_ino != theirs.st_ino ||
        ours.st_dev != theirs.st_dev)
        return pyusdt_error_set(error, -EXDEV, "process %d has its own run directory, %s", (int)pid, found.directory);
    return invite(session, found.inner, (uint32_t)pid, error);
}

/* ---- finding them ---- */

static bool is_known(const struct pyusdt_session *session, const struct pyusdt_identity *who)
{
    for (uint32_t i = 0; i < session->nliving; i++) {
        const struct pyusdt_identity *other = &session->targets[session->living[i]]->who;
        if (other->pid == who->pid && other->starttime == who->starttime && other->instance == who->instance)
            return true;
    }
    return false;
}

static bool may_join(const struct pyusdt_session *session, uint32_t pid, uint32_t *host)
{
    *host = 0;
    for (unsigned i = 0; i < session->npids; i++)
        if (session->pids[i].pid == pid) {
            *host = session->pids[i].host;
            return true;
        }
    return session->header.all;
}

static int add_target(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t n = session->ntargets;

    if ((n & (n - 1)) == 0) { /* full at each power of two */
        uint32_t room = n ? 2 * n : 1;
        void *targets = realloc(session->targets, room * sizeof *session->targets), *living;
        if (!targets)
            return -ENOMEM;
        session->targets = targets;
        living = realloc(session->living, room * sizeof *session->living);
        if (!living)
            return -ENOMEM;
        session->living = living;
    }
    session->targets[n] = target;
    session->living[session->nliving++] = n;
    session->ntargets++;
    return 0;
}

static bool wants_comm(const struct pyusdt_session *session, const struct pyusdt_target *target)
{
    return !session->header.comm[0] || strncmp(session->header.comm, target->comm, sizeof target->comm) == 0;
}

static int scan_one(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct pyusdt_session *session = arg;
    struct pyusdt_target *target;
    bool joined;
    uint32_t host;

    if (name->kind != PYUSDT_FILE_CTL || is_known(session, &name->who) || !may_join(session, name->who.pid, &host) ||
        session->nliving >= PYUSDT_TARGETS_MAX)
        return 0;
    target = pyusdt_target_open(session, text, &name->who, host, NULL);
    if (!target)
        return 0; /* not ready, or not ours to read */
    joined = atomic_load(&target->slot->wanted) == session->header.generation;
    if (!wants_comm(session, target) || (!joined && (session->stopped || pyusdt_target_is_dead(target) ||
        atomic_load(&target->ctl->state) == PYUSDT_CTL_EXITED))) {
        pyusdt_target_free(target); /* it never heard of us, or we are done with it */
        return 0;
    }
    if (add_target(session, target) != 0) {
        pyusdt_target_free(target);
        return -ENOMEM;
    }
    if (session->stopped)
        pyusdt_target_detach(session, target);
    else
        pyusdt_target_attach(session, target);
    return 0;
}

static int64_t nanoseconds(struct timespec t)
{
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Unless the directory is as it was when it was read, and was not being changed then, or nobody joins any more. */
int pyusdt_session_scan(struct pyusdt_session *session, bool always)
{
    struct timespec now;
    struct stat st;

    if (fstat(session->dir, &st) != 0)
        return 0;
    if (!always && (session->stopped || (nanoseconds(pyusdt_os_modified(&st)) == session->scanned_mtime &&
        session->scanned_at - session->scanned_mtime > MTIME_GRAIN_NS)))
        return 0;
    atomic_thread_fence(memory_order_seq_cst); /* who publishes from here on sees what we wrote; who did before, we see */
    clock_gettime(CLOCK_REALTIME, &now);
    session->scanned_at = nanoseconds(now);
    session->scanned_mtime = nanoseconds(pyusdt_os_modified(&st));
    return pyusdt_rundir_each(session->dir, scan_one, session);
}

/* ---- what is known ---- */

int pyusdt_session_target(const struct pyusdt_session *session, uint32_t target, struct pyusdt_target_info *info)
{
    if (target >= session->ntargets)
        return -ENOENT;
    pyusdt_target_info(session->targets[target], info);
    return 0;
}

int pyusdt_session_probe(const struct pyusdt_session *session, uint32_t target, uint32_t probe,
                         struct pyusdt_probe_info *info)
{
    struct pyusdt_table table;

    if (target >= session->ntargets)
        return -ENOENT;
    table = session->targets[target]->table->table;
    table.pid = session->targets[target]->who.pid;
    return pyusdt_table_probe(&table, probe, info);
}

int64_t pyusdt_session_drops(const struct pyusdt_session *session, uint32_t target, uint32_t probe)
{
    if (target >= session->ntargets || probe >= session->targets[target]->table->table.nprobes)
        return -ENOENT;
    return (int64_t)pyusdt_target_drops(session->targets[target], probe);
}

void pyusdt_session_stats(struct pyusdt_session *session, struct pyusdt_session_stats *stats)
{
    *stats = (struct pyusdt_session_stats){.delivered = session->delivered,
                                           .out_of_order = session->out_of_order,
                                           .corrupt = session->corrupt,
                                           .targets = session->ntargets,
                                           .alive = session->nliving,
                                           .slot = session->header.slot};
    for (uint32_t i = 0; i < session->ntargets; i++) {
        const struct pyusdt_target *target = session->targets[i];
        stats->dropped += pyusdt_target_dropped(session, target);
        stats->bytes += target->life == PYUSDT_FINISHED ? 0 : target->rings * session->header.bufsize;
    }
}

/* ---- the end ---- */

void pyusdt_session_stop(struct pyusdt_session *session)
{
    if (!session->started || session->stopped)
        return;
    session->stopped = true;
    write_state(session, PYUSDT_SESSION_MAKING);
    for (uint32_t i = 0; i < session->nliving; i++)
        pyusdt_target_detach(session, session->targets[session->living[i]]);
    pyusdt_session_scan(session, true); /* who has joined by himself since we last looked, and may have fired */
}

void pyusdt_session_close(struct pyusdt_session *session)
{
    if (!session)
        return;
    if (session->resumed && !session->started) { /* another's script, and not ours to end */
        close(session->fd);
        session->fd = -1;
    }
    pyusdt_session_stop(session);
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_finish(session, session->targets[i]);
    if (session->started)
        pyusdt_sweep(session->dir, session->header.slot); /* of targets whose death was not noticed any more */
    if (session->fd >= 0)
        pyusdt_slot_release(session->dir, session->header.slot, session->fd);
    pyusdt_session_free(session);
}

void pyusdt_session_free(struct pyusdt_session *session)
{
    if (session->dir >= 0)
        close(session->dir);
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_free(session->targets[i]);
    free(session->targets);
    free(session->living);
    free(session->heap);
    free(session->wants);
    free(session);
}
