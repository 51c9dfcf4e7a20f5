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
static int take_slot(const struct pyusdt_session *session, struct pyusdt_base *base,
                     struct pyusdt_error *error)
{
    int r = pyusdt_keep_resume(session, base, error), written;
    char advice[PYUSDT_ADVICE_SIZE];

    if (r == 0)
        r = pyusdt_base_claim(base, error);
    written = r < 0 ? 0 : pyusdt_base_write(base);
    if (written != 0)
        r = pyusdt_error_set(
            error, written, "can not write the session file in %s: %s%s", base->in.path,
            strerror(-written),
            written == -ENOSPC ? pyusdt_space_advice(base->in.dir, advice, sizeof advice) : "");
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

bool pyusdt_user_is_cut_off(const struct pyusdt_session *session, uint32_t uid)
{
    for (uint32_t i = 0; i < session->nbases; i++)
        if (session->base[i]->cut_off && session->base[i]->in.uid == uid)
            return true;
    return false;
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

int pyusdt_base_settle(struct pyusdt_session *session, struct pyusdt_base *base,
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
    return base->fd >= 0 || base->cut_off ? 0 : pyusdt_base_settle(session, base, error);
}

int pyusdt_base_start(const struct pyusdt_session *session, struct pyusdt_base *base,
                      struct pyusdt_error *error)
{
    int r;

    if (base->resumed && pyusdt_keep_check_wants(session, base, error) != 0)
        return -EINVAL;
    base->header.nwants = session->nwants;
    base->header.seen = pyusdt_now();
    r = pyusdt_base_write_wants(base, session->wants, session->nwants);
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
