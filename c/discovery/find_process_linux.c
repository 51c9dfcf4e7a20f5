/*
 * Finding the run directory of a process on Linux, by the names of control files that it has
 * mapped.
 *
 * - The directory of a mapping is used only if the process is trusted (proc_handle.h).
 */
#if defined(__linux__) && !defined(PYUSDT_FIND_PORTABLE)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "discovery/find_process.h"
#include "discovery/proc_handle.h"

int64_t pyusdt_read_process_uid(uint32_t pid)
{
    struct pyusdt_proc_handle handle;
    int r = pyusdt_proc_open(pid, &handle);

    if (r != 0)
        return r;
    pyusdt_proc_close(&handle);
    return handle.uid;
}

static int set_reason(uint32_t pid, int error, struct pyusdt_error *out)
{
    char path[32];
    struct stat st;

    if (pyusdt_is_shortage(error))
        return pyusdt_error_set(out, error, "process %u cannot be read: %s", pid, strerror(-error));
    snprintf(path, sizeof path, "/proc/%u", pid);
    if (error == -ESRCH || stat(path, &st) != 0)
        return pyusdt_error_set(out, -ESRCH, "no such process: %u", pid);
    if (st.st_uid != geteuid() && geteuid() != 0)
        return pyusdt_error_set(
            out, -EPERM,
            "process %u belongs to another user (uid %u): trace as that user, or as root", pid,
            (unsigned)st.st_uid);
    return pyusdt_error_set(
        out, -EPERM,
        "no permission to read process %u (%s): it has changed its user or its rights, and has no control file "
        "in this user's run directory; trace as root",
        pid, strerror(-error));
}

/* A process that has changed its user shows nothing to the new one, but publishes itself in his run directory. */
static int find_hidden(pid_t pid, int error, struct pyusdt_process_file *found,
                       struct pyusdt_error *out)
{
    if (!pyusdt_is_shortage(error) && error != -ESRCH &&
        pyusdt_find_process_by_name(pid, found, NULL) == 0)
        return 0;
    return set_reason((uint32_t)pid, error, out);
}

/* ---- what it has mapped ---- */

struct mapped {
    bool own, parents,
        removed; /* its control file; that of the process which forked it; its own, unlinked */
    struct pyusdt_identity who;       /* of its own */
    char directory[PYUSDT_PATH_SIZE]; /* of its own, else of its parent's */
};

/* Takes "directory/name.ctl" of one line of /proc/PID/maps apart, and what follows where the file is gone. */
static bool parse_mapping(char *line, struct pyusdt_name *name, char **directory, bool *removed)
{
    static const char mark[] = " (deleted)";
    char *path = strchr(line, '/'), *base, *end;

    line[strcspn(line, "\n")] = '\0';
    base = path ? strrchr(path, '/') : NULL;
    if (!base || base == path)
        return false;
    end = strstr(base, mark);
    *removed = end && end[sizeof mark - 1] == '\0';
    if (*removed)
        *end = '\0';
    pyusdt_name_parse(base + 1, name);
    *base = '\0';
    *directory = path;
    return name->kind == PYUSDT_FILE_CTL;
}

static void note_mapping(struct mapped *mapped, uint32_t inner, char *line)
{
    struct pyusdt_name name;
    char *directory;
    bool removed, own;

    if (!parse_mapping(line, &name, &directory, &removed))
        return;
    own = name.process.pid == inner;
    mapped->parents |= !own; /* which may have ended, and its file with it */
    mapped->removed |= own && removed;
    if ((own && removed) || (!own && mapped->directory[0]))
        return;
    snprintf(mapped->directory, sizeof mapped->directory, "%s", directory);
    mapped->own |= own;
    if (own)
        mapped->who = name.process;
}

static int read_mappings(const struct pyusdt_proc_handle *handle, struct mapped *mapped)
{
    int failed = 0, fd = openat(handle->thread, "maps", O_RDONLY | O_CLOEXEC);
    char line[PYUSDT_PATH_SIZE + 256];
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    memset(mapped, 0, sizeof *mapped);
    if (!file) {
        failed = -errno;
        if (fd >= 0)
            close(fd);
        return failed;
    }
    while (fgets(line, sizeof line, file))
        note_mapping(mapped, handle->inner, line);
    failed = ferror(file) ? -errno : 0;
    fclose(file);
    return failed;
}

/* ---- where it may be ---- */

struct search {
    const struct pyusdt_proc_handle *handle;
    const struct mapped *mapped;
    struct pyusdt_process_file *found;
    struct pyusdt_error error; /* why the first could not be entered */
};

static struct pyusdt_error *first_error(struct search *search)
{
    return search->error.code ? NULL : &search->error;
}

static bool has_its_file(const struct search *search, int dir)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .process = search->mapped->who};
    char text[PYUSDT_NAME_SIZE];
    struct stat st;

    pyusdt_name_format(&name, text);
    return search->mapped->own && name.process.starttime == search->handle->starttime &&
           fstatat(dir, text, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* true: this is it. The first directory is right for a process that has not published itself. Of a process that has become another
 * user the file is where it was: in our directory, if it was one of ours. */
static bool try_rundir(struct search *search, int failed, const struct pyusdt_rundir_handle *in)
{
    struct pyusdt_process_file *found = search->found;

    if (failed)
        return false;
    if (in->uid != search->handle->uid && in->uid != geteuid())
        pyusdt_error_set(first_error(search), -EPERM, "run directory %s does not belong to uid %u",
                         in->path, search->handle->uid);
    else
        found->published = has_its_file(search, in->dir);
    if (!found->published && (search->mapped->own || in->uid != search->handle->uid)) {
        close(in->dir);
        return false;
    }
    found->in = *in;
    return true;
}

/* The directory that a trusted process has mapped; the tracer's own, or a named one; the system's places for the process's user. */
static bool search_all(struct search *search)
{
    const struct pyusdt_proc_handle *handle = search->handle;
    struct pyusdt_rundir_handle in;

    if (pyusdt_proc_is_trusted(handle) && search->mapped->directory[0] &&
        try_rundir(search,
                   pyusdt_rundir_open_reported(search->mapped->directory, handle->uid, &in,
                                               first_error(search)),
                   &in))
        return true;
    if (try_rundir(search, pyusdt_rundir_open_named(NULL, &in, first_error(search)), &in))
        return true;
    for (unsigned i = 0; i < PYUSDT_PARENTS; i++)
        if (try_rundir(search,
                       pyusdt_rundir_open_of_handle(handle, i, false, &in, first_error(search)),
                       &in))
            return true;
    /* a process that has not published itself will do so there */
    return !search->mapped->own &&
           try_rundir(search,
                      pyusdt_rundir_open_of_handle(handle, 0, true, &in, first_error(search)), &in);
}

static int not_found(const struct search *search, struct pyusdt_error *error)
{
    uint32_t pid = search->handle->pid, name = search->handle->name;

    if (!search->mapped->own && search->mapped->removed)
        return pyusdt_error_set(error, -ENODATA,
                                "process %u cannot be traced: its control file was removed", pid);
    return pyusdt_error_set(
        error, -EPERM,
        "process %u of uid %u cannot be traced: uid %u trusts none of its run directories: "
        "/dev/shm/pyusdt-%u, /tmp/pyusdt-%u%s (%s); set the same PYUSDT_RUNDIR for both, or trace as its user",
        pid, search->handle->uid, (unsigned)geteuid(), name, name,
        search->handle->mounts ? " of its container" : " or what PYUSDT_RUNDIR says here",
        search->error.code ? search->error.message : "it is in none of them");
}

static int find(const struct pyusdt_proc_handle *handle, struct pyusdt_process_file *found,
                struct pyusdt_error *error)
{
    struct mapped mapped;
    struct search search = {.handle = handle, .mapped = &mapped, .found = found};
    int r = read_mappings(handle, &mapped);

    if (r != 0)
        return find_hidden((pid_t)handle->pid, r, found, error);
    if (!mapped.own && !mapped.parents && !mapped.removed)
        return pyusdt_error_set(error, -ENODATA, "process %u has no pyusdt in it", handle->pid);
    found->inner = handle->inner;
    found->who = mapped.who;
    if ((mapped.own || mapped.parents) && search_all(&search))
        return 0;
    return not_found(&search, error);
}

int pyusdt_find_process(pid_t pid, struct pyusdt_process_file *found, struct pyusdt_error *error)
{
    struct pyusdt_proc_handle handle;
    int r;

    memset(found, 0, sizeof *found);
    if (pid <= 0)
        return pyusdt_error_set(error, -ESRCH, "no such process: %d", (int)pid);
    r = pyusdt_proc_open((uint32_t)pid, &handle);
    if (r != 0)
        return find_hidden(pid, r, found, error);
    r = find(&handle, found, error);
    pyusdt_proc_close(&handle);
    return r;
}

#endif
