/* Entering run directories: see rundir_open.h. */
#define _GNU_SOURCE
#include "discovery/rundir_open.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shared/fsuid.h"
#include "shared/test_hook.h"
#include "discovery/proc_handle.h"

#define NOBODYS_GROUP 65534 /* where nothing is made */
#ifndef O_PATH
#define O_PATH O_RDONLY
#endif

static const char *const parents[PYUSDT_PARENTS] = {"dev/shm", "tmp"}; /* below a root */

/* ---- one name after the other ---- */

static int open_root(void)
{
    return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Walks down a path from the directory `at`, and closes it. The walk follows mounts, and refuses links. */
static int walk_path(int at, const char *path)
{
    char name[PYUSDT_PATH_SIZE];

    while (at >= 0 && *path) {
        int up = at, length = (int)strcspn(path, "/");
        snprintf(name, sizeof name, "%.*s", length, path);
        path += length + (path[length] == '/');
        PYUSDT_HOOK(40);
        at = strcmp(name, "..") == 0
                 ? -1
                 : openat(up, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(up);
    }
    return at;
}

/* Fails unless root alone can replace another user's directory in `up`. Everybody may make one there, as in /tmp. */
static int check_parent(int up, bool ours, const char *path, struct pyusdt_error *error)
{
    struct stat st;

    if (fstat(up, &st) != 0)
        return pyusdt_error_set(error, -errno, "%s: %s", path, strerror(errno));
    if ((st.st_mode & 022 && !(st.st_mode & S_ISVTX)) || (ours && st.st_uid != 0))
        return pyusdt_error_set(error, -EPERM,
                                "the directory that %s is in is not root's alone to change", path);
    return 0;
}

/* Enters the run directory in the open directory `up`, which its user made; the caller acts as that user. */
static int open_in_parent(int up, bool make, struct pyusdt_rundir_handle *in,
                          struct pyusdt_error *error)
{
    const char *name = strrchr(in->path, '/') + 1;
    int r;

    PYUSDT_HOOK(41);
    if (make && mkdirat(up, name, 0700) != 0 && errno != EEXIST)
        return pyusdt_error_set(error, -errno, "cannot make the run directory %s: %s", in->path,
                                strerror(errno));
    PYUSDT_HOOK(42);
    in->dir = pyusdt_os_open_in(up, name, O_RDONLY | O_DIRECTORY, 0);
    PYUSDT_HOOK(43);
    if (in->dir == -EACCES)
        return pyusdt_error_set(
            error, -EPERM,
            "run directory %s does not belong to uid %u, or its owner may not enter it", in->path,
            in->uid);
    if (in->dir < 0)
        return pyusdt_error_set(error, in->dir, "run directory %s: %s", in->path,
                                strerror(-in->dir));
    r = pyusdt_rundir_check(in->dir, in->uid, in->path, error);
    if (r != 0)
        close(in->dir);
    return r;
}

/* Enters a run directory below a root directory, and closes the root. ours: it is the tracer's own root. The caller acts as the
 * directory's user. */
static int open_below_root(int root, bool ours, bool make, struct pyusdt_rundir_handle *in,
                           struct pyusdt_error *error)
{
    int r, up = walk_path(root, parents[in->parent]);

    if (up < 0)
        return pyusdt_error_set(error, -errno, "run directory %s: %s", in->path, strerror(errno));
    r = check_parent(up, ours, in->path, error);
    if (r == 0)
        r = open_in_parent(up, make, in, error);
    close(up);
    return r;
}

/* The same, with the rights of the directory's user. in: has the uid, the parent and the mounts; name: the uid that the user has
 * where the directory is (a container gives him another one). */
static int open_as_owner(int root, uint32_t name, uint32_t gid, bool make,
                         struct pyusdt_rundir_handle *in, struct pyusdt_error *error)
{
    struct pyusdt_saved_fsuid acting;
    int r;

    snprintf(in->path, sizeof in->path, "/%s/" PYUSDT_RUNDIR_PREFIX "%u", parents[in->parent],
             name);
    r = pyusdt_fsuid_switch(in->uid, gid, &acting);
    if (r != 0) {
        close(root);
        return pyusdt_error_set(error, r, "run directory %s: cannot act as uid %u", in->path,
                                in->uid);
    }
    r = open_below_root(root, in->mounts == 0, make, in, error);
    pyusdt_fsuid_restore(&acting);
    return r;
}

/* ---- owners ---- */

static int read_owner(int dir, uint32_t *uid)
{
    struct stat st;

    if (fstat(dir, &st) != 0)
        return -errno;
    *uid = st.st_uid;
    return 0;
}

/* Which of the parents the user's own directory is in: a process that becomes another user looks for its new directory there. */
static int find_parent(const char *path)
{
    char own[PYUSDT_PATH_SIZE];

    for (int i = 0; i < PYUSDT_PARENTS; i++) {
        snprintf(own, sizeof own, "/%s/" PYUSDT_RUNDIR_PREFIX "%u", parents[i],
                 (unsigned)geteuid());
        if (strcmp(path, own) == 0)
            return i;
    }
    return -1;
}

int pyusdt_rundir_open_named(const char *path, struct pyusdt_rundir_handle *in,
                             struct pyusdt_error *error)
{
    int r = 0;

    *in = (struct pyusdt_rundir_handle){.dir = -1};
    if (path)
        snprintf(in->path, sizeof in->path, "%s", path);
    else
        r = pyusdt_rundir_make(in->path, sizeof in->path, error);
    in->parent = find_parent(in->path);
    if (r == 0)
        r = in->dir = pyusdt_rundir_open(in->path, error);
    if (r < 0)
        return r;
    r = read_owner(in->dir, &in->uid);
    if (r == 0)
        return 0;
    close(in->dir);
    return pyusdt_error_set(error, r, "run directory %s: %s", in->path, strerror(-r));
}

int pyusdt_rundir_open_reported(const char *path, uint32_t uid, struct pyusdt_rundir_handle *in,
                                struct pyusdt_error *error)
{
    int r, at = path[0] == '/' ? walk_path(open_root(), path + 1) : -1;

    *in = (struct pyusdt_rundir_handle){.dir = -1, .uid = uid, .parent = find_parent(path)};
    snprintf(in->path, sizeof in->path, "%s", path);
    if (at >= 0) {
        in->dir = pyusdt_os_open_in(at, ".", O_RDONLY | O_DIRECTORY, 0);
        close(at);
    }
    if (in->dir < 0)
        return pyusdt_error_set(error, -ENOENT, "run directory %s: %s", path, strerror(ENOENT));
    r = pyusdt_rundir_check(in->dir, uid, path, error);
    if (r != 0)
        close(in->dir);
    return r;
}

int pyusdt_rundir_open_of_user(unsigned parent, uint32_t uid, struct pyusdt_rundir_handle *in,
                               struct pyusdt_error *error)
{
    *in = (struct pyusdt_rundir_handle){.dir = -1, .uid = uid, .parent = (int)parent};
    return open_as_owner(open_root(), uid, NOBODYS_GROUP, false, in, error);
}

/* If the process has become another user meanwhile, or has gone into another namespace, it is not the one that was asked for. */
int pyusdt_rundir_open_of_handle(const struct pyusdt_proc_handle *handle, unsigned parent,
                                 bool make, struct pyusdt_rundir_handle *in,
                                 struct pyusdt_error *error)
{
    int r, root = handle->mounts == 0 ? open_root() : pyusdt_proc_open_root(handle);

    PYUSDT_HOOK(44);
    if (root < 0)
        return pyusdt_error_set(error, -errno,
                                "the root directory of process %u cannot be entered: %s",
                                handle->pid, strerror(errno));
    *in = (struct pyusdt_rundir_handle){
        .dir = -1, .uid = handle->uid, .parent = (int)parent, .mounts = handle->mounts};
    r = open_as_owner(root, handle->name, handle->gid, make, in, error);
    PYUSDT_HOOK(45);
    if (r != 0 || pyusdt_proc_is_same(handle))
        return r;
    close(in->dir);
    return pyusdt_error_set(
        error, -ESRCH, "process %u has ended, or is another user's or in another namespace now",
        handle->pid);
}

int pyusdt_rundir_open_of_process(uint32_t pid, unsigned parent, bool make,
                                  struct pyusdt_rundir_handle *in, struct pyusdt_error *error)
{
    struct pyusdt_proc_handle handle;
    int r = pyusdt_proc_open(pid, &handle);

    if (r != 0)
        return pyusdt_error_set(error, r, "process %u may not be looked at: %s", pid, strerror(-r));
    r = pyusdt_rundir_open_of_handle(&handle, parent, make, in, error);
    pyusdt_proc_close(&handle);
    return r;
}

/* ---- all users ---- */

struct users {
    unsigned parent;
    pyusdt_user_rundir_fn *fn;
    void *arg;
};

/* A name counts only as a process writes it: one uid has no second spelling. */
static int each_user(void *arg, const char *text)
{
    const struct users *users = arg;
    char again[PYUSDT_NAME_SIZE];
    unsigned uid;

    if (sscanf(text, PYUSDT_RUNDIR_PREFIX "%u", &uid) != 1)
        return 0;
    snprintf(again, sizeof again, PYUSDT_RUNDIR_PREFIX "%u", uid);
    return strcmp(again, text) == 0 && users->fn(users->arg, users->parent, uid) != 0;
}

int pyusdt_each_user_rundir(unsigned parent, int64_t *modified, pyusdt_user_rundir_fn *fn,
                            void *arg)
{
    struct users users = {parent, fn, arg};
    char path[PYUSDT_PATH_SIZE];
    int64_t changed = 0;
    struct timespec now;
    struct stat st;
    int r = 0, dir;

    snprintf(path, sizeof path, "/%s", parents[parent]);
    dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    clock_gettime(CLOCK_REALTIME, &now);
    if (fstat(dir, &st) == 0)
        changed = pyusdt_os_mtime(&st).tv_sec * 1000000000ll + pyusdt_os_mtime(&st).tv_nsec;
    if (!modified || changed != *modified)
        r = pyusdt_os_each_name(dir, each_user, &users);
    if (modified)
        *modified =
            now.tv_sec * 1000000000ll + now.tv_nsec - changed > PYUSDT_MTIME_GRAIN_NS ? changed : 0;
    close(dir);
    return r;
}
