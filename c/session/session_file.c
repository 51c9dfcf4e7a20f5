/* The session file of one run directory: see session_file.h. */
#define _GNU_SOURCE
#include "session/session_file.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session/session_warnings.h"
#include "shared/error.h"
#include "shared/session_slot.h"

static int write_at(int fd, const void *bytes, size_t size, off_t at)
{
    ssize_t n = pwrite(fd, bytes, size, at);
    return n == (ssize_t)size ? 0 : n < 0 ? -errno : -ENOSPC;
}

int pyusdt_session_dir_write_header(struct pyusdt_session_dir *rundir)
{
    return write_at(rundir->fd, &rundir->header, sizeof rundir->header, 0);
}

int pyusdt_session_dir_write_wants(struct pyusdt_session_dir *rundir,
                                   const struct pyusdt_want *wants, uint32_t nwants)
{
    return nwants ? write_at(rundir->fd, wants, nwants * sizeof *wants, sizeof rundir->header) : 0;
}

int pyusdt_session_dir_write_paths(struct pyusdt_session_dir *rundir,
                                   const struct pyusdt_path *paths, uint32_t npaths,
                                   uint32_t nwants)
{
    uint64_t at = sizeof rundir->header + (uint64_t)nwants * sizeof(struct pyusdt_want);

    return npaths ? write_at(rundir->fd, paths, npaths * sizeof *paths, (off_t)at) : 0;
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

static int claim_any_slot(struct pyusdt_session_dir *rundir)
{
    int fd = -EWOULDBLOCK;

    for (uint32_t slot = 0; fd == -EWOULDBLOCK && slot < PYUSDT_MAX_SESSIONS; slot++) {
        fd = claim_slot(rundir->in.dir, slot);
        rundir->header.slot = slot;
    }
    return fd;
}

/* Another tracer holds a free slot for a moment while it removes stale files. */
enum { CLAIM_TRIES = 10 };
static const struct timespec claim_pause = {.tv_nsec = 5000000};

int pyusdt_session_dir_claim_slot(struct pyusdt_session_dir *rundir, struct pyusdt_error *error)
{
    char advice[PYUSDT_ADVICE_SIZE];
    int fd = claim_any_slot(rundir);

    for (int i = 1; fd == -EWOULDBLOCK && i < CLAIM_TRIES; i++) {
        nanosleep(&claim_pause, NULL);
        fd = claim_any_slot(rundir);
    }
    if (fd == -EWOULDBLOCK)
        return pyusdt_error_set(error, -EBUSY,
                                "all %d session slots of the run directory are taken",
                                PYUSDT_MAX_SESSIONS);
    if (fd < 0)
        return pyusdt_error_set(
            error, fd, "cannot make a session file in %s: %s%s", rundir->in.path, strerror(-fd),
            fd == -ENOSPC ? pyusdt_space_advice(rundir->in.dir, advice, sizeof advice) : "");
    rundir->fd = fd;
    return 0;
}
