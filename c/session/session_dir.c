/* A session in one run directory: its slot, its start and its end. */
#define _GNU_SOURCE
#include "session/session_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/kept_session.h"
#include "session/session_file.h"
#include "session/session_forks.h"
#include "session/session_warnings.h"
#include "session/stale_files.h"
#include "shared/error.h"
#include "shared/test_hook.h"
#include "shared/os.h"
#include "shared/session_slot.h"

#define RETRY_NS 1000000000u /* how often a slot is tried for where all were taken */

/* ---- the session file ---- */

/* Resumes the kept session that is there, or takes a slot for one that begins. */
static int resume_or_claim(const struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                           struct pyusdt_error *error)
{
    int r = pyusdt_kept_resume(session, rundir, error), written;
    char advice[PYUSDT_ADVICE_SIZE];

    if (r == 0)
        r = pyusdt_session_dir_claim_slot(rundir, error);
    written = r < 0 ? 0 : pyusdt_session_dir_write_header(rundir);
    if (written != 0)
        r = pyusdt_error_set(
            error, written, "cannot write the session file in %s: %s%s", rundir->in.path,
            strerror(-written),
            written == -ENOSPC ? pyusdt_space_advice(rundir->in.dir, advice, sizeof advice) : "");
    if (r < 0 && rundir->fd >= 0) {
        pyusdt_slot_release(rundir->in.dir, rundir->header.slot, rundir->fd);
        rundir->fd = -1;
    }
    if (r >= 0)
        pyusdt_remove_stale_files(rundir->in.dir, rundir->header.slot);
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

bool pyusdt_session_is_user_stopped(const struct pyusdt_session *session, uint32_t uid)
{
    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (session->rundir[i]->cut_off && session->rundir[i]->in.uid == uid)
            return true;
    return false;
}

static struct pyusdt_session_dir *add_rundir(struct pyusdt_session *session,
                                             const struct pyusdt_rundir_handle *in)
{
    struct pyusdt_session_dir *rundir =
        session->nrundirs < PYUSDT_RUNDIRS_MAX ? calloc(1, sizeof *rundir) : NULL;
    uint64_t generation;

    if (!rundir || make_generation(&rundir->header) != 0) {
        free(rundir);
        return NULL;
    }
    generation = rundir->header.generation;
    rundir->in = *in;
    rundir->fd = -1;
    rundir->header = session->header;
    rundir->header.generation = generation;
    for (unsigned i = 0; i < session->npids; i++)
        if (!session->pids[i].rundir)
            pyusdt_session_dir_invite(rundir, session->pids[i].pid);
    rundir->cut_off = pyusdt_session_is_user_stopped(session, in->uid);
    session->rundir[session->nrundirs++] = rundir;
    return rundir;
}

/* That of this directory, by whatever path. */
static struct pyusdt_session_dir *find_rundir(const struct pyusdt_session *session, int dir)
{
    struct stat ours, theirs;

    for (uint32_t i = 0; i < session->nrundirs; i++)
        if (fstat(session->rundir[i]->in.dir, &ours) == 0 && fstat(dir, &theirs) == 0 &&
            ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev)
            return session->rundir[i];
    return NULL;
}

int pyusdt_session_dir_take_slot(struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                                 struct pyusdt_error *error)
{
    int r;

    rundir->retry_at = pyusdt_now() + RETRY_NS;
    pyusdt_forks_lock();
    r = resume_or_claim(session, rundir, error);
    pyusdt_forks_unlock();
    if (r == 0 && session->started && !session->stopped)
        r = pyusdt_session_dir_start(session, rundir, error);
    return r;
}

int pyusdt_session_dir_open(struct pyusdt_session *session, const struct pyusdt_rundir_handle *in,
                            struct pyusdt_session_dir **out, struct pyusdt_error *error)
{
    struct pyusdt_session_dir *rundir = session->forked ? NULL : find_rundir(session, in->dir);

    if (session->forked || rundir)
        close(in->dir);
    else if (!(rundir = add_rundir(session, in))) {
        close(in->dir);
        return pyusdt_error_set(error, -ENOMEM, "no room for the run directory %s", in->path);
    }
    if (session->forked)
        return pyusdt_session_forked_error(error);
    *out = rundir;
    return rundir->fd >= 0 || rundir->cut_off
               ? 0
               : pyusdt_session_dir_take_slot(session, rundir, error);
}

int pyusdt_session_dir_start(const struct pyusdt_session *session,
                             struct pyusdt_session_dir *rundir, struct pyusdt_error *error)
{
    int r;

    if (rundir->resumed && pyusdt_kept_check_wants(session, rundir, error) != 0)
        return -EINVAL;
    rundir->header.nwants = session->nwants;
    rundir->header.seen = pyusdt_now();
    rundir->header.npaths = session->npaths;
    r = pyusdt_session_dir_write_wants(rundir, session->wants, session->nwants);
    if (r == 0)
        r = pyusdt_session_dir_write_paths(rundir, session->paths, session->npaths,
                                           session->nwants);
    PYUSDT_HOOK(35);
    rundir->header.state = PYUSDT_SESSION_STARTED;
    if (r == 0)
        r = pyusdt_session_dir_write_header(rundir);
    PYUSDT_HOOK(36);
    if (r != 0)
        return pyusdt_error_set(error, r, "cannot start the session: %s", strerror(-r));
    rundir->started = true;
    return 0;
}

void pyusdt_session_dir_invite(struct pyusdt_session_dir *rundir, uint32_t pid)
{
    for (unsigned i = 0; i < PYUSDT_PIDS_MAX; i++)
        if (rundir->header.pids[i] == 0 || rundir->header.pids[i] == pid) {
            rundir->header.pids[i] = pid;
            return;
        }
}

void pyusdt_session_dir_close(struct pyusdt_session_dir *rundir)
{
    if (rundir->started)
        pyusdt_remove_stale_files(
            rundir->in.dir,
            rundir->header.slot); /* of targets whose death was not noticed any more */
    if (rundir->fd >= 0 && rundir->resumed && !rundir->started)
        close(rundir->fd); /* another tracer's script, which may go on */
    else if (rundir->fd >= 0)
        pyusdt_slot_release(rundir->in.dir, rundir->header.slot, rundir->fd);
    rundir->fd = -1;
}
