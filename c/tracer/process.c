/* Listing the probes of the processes that run, and of those that a kept session still knows. */
#define _GNU_SOURCE
#include "tracer/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/os.h"
#include "tracer/tracer.h"

int pyusdt_find_rundir(pid_t pid, char *path, size_t size, struct pyusdt_error *error)
{
    struct pyusdt_process_file found;
    int n, dir, r = pyusdt_process_find(pid, &found, error);

    if (r != 0)
        return r;
    dir = pyusdt_rundir_open_of(found.directory, found.owner, error);
    if (dir < 0)
        return dir;
    close(dir);
    n = snprintf(path, size, "%s", found.directory);
    return n < 0 || (size_t)n >= size ? pyusdt_error_set(error, -ENAMETOOLONG, "%s: too long", found.directory) : 0;
}

/* ---- listing ---- */

struct listing {
    struct pyusdt_session *session; /* all that pyusdt_target_open() needs of one */
    struct pyusdt_place place;      /* and of that */
    pyusdt_list_fn *fn;
    void *arg;
    uint32_t only, host; /* one process, in its namespace and in ours; 0: all */
    int seen;
    bool stop;
};

static bool list_target(struct listing *listing, const struct pyusdt_target *target)
{
    struct pyusdt_table table = target->table->table;
    struct pyusdt_target_info info;
    struct pyusdt_probe_info probe;

    table.pid = target->who.pid;
    pyusdt_target_info(target, &info);
    for (uint32_t i = 0; i < table.nprobes; i++)
        if (pyusdt_table_probe(&table, i, &probe) == 0 && listing->fn(listing->arg, &info, &probe) != 0)
            return true;
    return false;
}

static bool lives(struct pyusdt_target *target)
{
    return atomic_load(&target->ctl->state) != PYUSDT_CTL_EXITED && !pyusdt_target_is_dead(target);
}

static int list_one(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct listing *listing = arg;
    struct pyusdt_target *target;
    bool stop = false;

    if (name->kind != PYUSDT_FILE_CTL || (listing->only != 0 && name->who.pid != listing->only))
        return 0;
    target = pyusdt_target_open(listing->session, &listing->place, text, &name->who, listing->host, NULL);
    if (target && lives(target)) {
        listing->seen++;
        stop = list_target(listing, target);
    }
    pyusdt_target_free(target);
    listing->stop |= stop;
    return stop;
}

static int list_directory(struct listing *listing, const char *path, int64_t owner, struct pyusdt_error *error)
{
    int r, dir = pyusdt_rundir_open_of(path, owner, error);

    if (dir < 0)
        return dir;
    listing->place.dir = dir;
    r = pyusdt_rundir_each(dir, list_one, listing);
    close(dir);
    return r == -E2BIG ? 0 : r;
}

/* Of another user; what can not be listed is not. The caller's own is listed already. */
static int list_user(void *arg, const char *path, uint32_t uid)
{
    struct listing *listing = arg;

    if (uid != geteuid())
        list_directory(listing, path, uid, NULL);
    return listing->stop;
}

int pyusdt_list(const char *rundir, pid_t pid, pyusdt_list_fn *fn, void *arg, struct pyusdt_error *error)
{
    struct listing listing = {.fn = fn, .arg = arg};
    bool everybody = pid == 0 && !rundir && pyusdt_rundir_of_all();
    struct pyusdt_process_file found = {.owner = -1};
    char path[PYUSDT_PATH_SIZE];
    int r;

    if (pid != 0) {
        r = pyusdt_process_find(pid, &found, error);
        if (r != 0)
            return r;
        rundir = found.directory;
        listing.only = found.inner;
        listing.host = (uint32_t)pid;
    } else if (!rundir) {
        r = pyusdt_rundir(path, sizeof path, error);
        if (r != 0)
            return r;
        rundir = path;
    }
    listing.session = calloc(1, sizeof *listing.session);
    if (!listing.session)
        return pyusdt_error_set(error, -ENOMEM, "no memory");
    r = list_directory(&listing, rundir, found.owner, error);
    for (unsigned i = 0; everybody && r == 0 && !listing.stop && i < PYUSDT_RUNDIR_PARENTS; i++)
        pyusdt_rundir_users(i, NULL, list_user, &listing);
    free(listing.session);
    return r < 0 ? r : listing.seen;
}

/* ---- what a kept session has ---- */

/* Those that have ended: pyusdt_list() has the others. */
static int list_joined(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct listing *listing = arg;
    struct pyusdt_target *target;

    if (name->kind != PYUSDT_FILE_CTL)
        return 0;
    target = pyusdt_target_open(listing->session, &listing->place, text, &name->who, 0, NULL);
    if (target && atomic_load(&target->slot->wanted) == listing->place.header.generation && !lives(target))
        listing->stop |= list_target(listing, target);
    pyusdt_target_free(target);
    return listing->stop;
}

int pyusdt_session_list_dead(struct pyusdt_session *session, pyusdt_list_fn *fn, void *arg)
{
    struct listing listing = {.session = session, .fn = fn, .arg = arg};
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < session->nplaces; i++) {
        listing.place = *session->place[i];
        if (listing.place.resumed)
            r = pyusdt_rundir_each(listing.place.dir, list_joined, &listing);
    }
    return r == -E2BIG ? 0 : r;
}
