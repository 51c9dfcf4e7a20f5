/*
 * All run directories: the user's own or a named one, other users', and those in containers. Each
 * is visited once.
 */
#define _GNU_SOURCE
#include "discovery/rundir_iter.h"

#include <sys/stat.h>
#include <unistd.h>

#include "discovery/namespaces.h"
#include "discovery/proc_handle.h"
#include "shared/os.h"

#define LOOKUPS_MAX \
    256 /* as many processes of a container may come at once and be known by our numbers */

struct visits {
    pyusdt_each_rundir_fn *fn;
    void *arg;
    int stop;
    struct visited {
        dev_t device;
        ino_t inode;
    } dirs[PYUSDT_RUNDIRS_MAX];
    uint32_t ndirs;
};

/* By its number on its file system, since several containers may share one. */
static bool is_visited(struct visits *visits, int dir)
{
    struct stat st;

    if (fstat(dir, &st) != 0)
        return true;
    for (uint32_t i = 0; i < visits->ndirs; i++)
        if (visits->dirs[i].device == st.st_dev && visits->dirs[i].inode == st.st_ino)
            return true;
    if (visits->ndirs < PYUSDT_RUNDIRS_MAX)
        visits->dirs[visits->ndirs++] = (struct visited){st.st_dev, st.st_ino};
    return false;
}

static int visit(struct visits *visits, const struct pyusdt_rundir_handle *in)
{
    if (!is_visited(visits, in->dir))
        visits->stop = visits->fn(visits->arg, in);
    close(in->dir);
    return visits->stop;
}

/* Of another user: the caller's own is visited already. A failure there is no reason to leave out the next. */
static int visit_user(void *arg, unsigned parent, uint32_t uid)
{
    struct visits *visits = arg;
    struct pyusdt_rundir_handle in;

    if (uid != geteuid() && pyusdt_rundir_open_of_user(parent, uid, &in, NULL) == 0 &&
        visit(visits, &in) < 0)
        visits->stop = 0;
    return visits->stop;
}

static int visit_container(void *arg, uint32_t pid, uint64_t mounts, uint32_t owner)
{
    struct visits *visits = arg;
    struct pyusdt_rundir_handle in;
    struct pyusdt_proc_handle handle;

    (void)mounts;
    (void)owner;
    if (pyusdt_proc_open(pid, &handle) != 0)
        return 0;
    for (unsigned i = 0;
         !visits->stop && i < PYUSDT_PARENTS && (geteuid() == 0 || handle.uid == geteuid()); i++)
        if (pyusdt_rundir_open_of_handle(&handle, i, false, &in, NULL) == 0 &&
            visit(visits, &in) < 0)
            visits->stop = 0;
    pyusdt_proc_close(&handle);
    return visits->stop;
}

int pyusdt_each_rundir(const char *rundir, pyusdt_each_rundir_fn *fn, void *arg,
                       struct pyusdt_error *error)
{
    struct visits visits = {.fn = fn, .arg = arg};
    bool everybody = !rundir && !pyusdt_rundir_from_environment();
    struct pyusdt_rundir_handle in;
    int r = pyusdt_rundir_open_named(rundir, &in, error);

    if (r == 0)
        r = visit(&visits, &in);
    for (unsigned i = 0;
         everybody && geteuid() == 0 && r == 0 && !visits.stop && i < PYUSDT_PARENTS; i++)
        pyusdt_each_user_rundir(i, NULL, visit_user, &visits);
    if (everybody && r == 0 && !visits.stop)
        pyusdt_each_other_namespace(visit_container, &visits);
    return r < 0 ? r : 0;
}

uint32_t pyusdt_find_local_pid(uint64_t pidns, const struct pyusdt_identity *who, uint32_t *lookups)
{
    if (pidns == pyusdt_os_pidns())
        return who->pid;
    if (*lookups >= LOOKUPS_MAX)
        return 0;
    ++*lookups;
    return pyusdt_find_host_pid(pidns, who->pid, who->starttime);
}
