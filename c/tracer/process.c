/* Finding the control file of a process, and listing the probes of those that run. */
#define _GNU_SOURCE
#include "tracer/process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/tracer.h"

/* The process's pid in its own pid namespace: the last of NSpid. */
static uint32_t inner_pid(pid_t pid)
{
    char path[32], line[256];
    uint32_t inner = (uint32_t)pid;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0)
            for (char *at = line + 6, *end; (inner = (uint32_t)strtoul(at, &end, 10), *end == '\t'); at = end)
                ;
    if (file)
        fclose(file);
    return inner;
}

static int why_not(pid_t pid, struct pyusdt_error *error)
{
    char path[32];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &st) == 0 && st.st_uid != geteuid())
        return pyusdt_error_set(error, -EPERM, "process %d belongs to another user (uid %u)", (int)pid,
                                (unsigned)st.st_uid);
    return pyusdt_error_set(error, -EPERM, "process %d may not be looked at: %s", (int)pid, strerror(errno));
}

/* Takes "directory/name.ctl" of one line of /proc/PID/maps apart. */
static bool parse_mapping(char *line, struct pyusdt_name *name, char **directory)
{
    char *path = strchr(line, '/'), *base;

    line[strcspn(line, "\n")] = '\0';
    base = path ? strrchr(path, '/') : NULL;
    if (!base || base == path)
        return false;
    pyusdt_name_parse(base + 1, name);
    *base = '\0';
    *directory = path;
    return name->kind == PYUSDT_FILE_CTL;
}

int pyusdt_process_find(pid_t pid, struct pyusdt_process_file *found, struct pyusdt_error *error)
{
    char path[64], line[PYUSDT_PATH_SIZE + 256], *directory;
    struct pyusdt_name name;
    bool parent = false;
    FILE *maps;

    memset(found, 0, sizeof *found);
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return pyusdt_error_set(error, -ESRCH, "no such process: %d", (int)pid);
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    if (!maps)
        return why_not(pid, error);
    found->inner = inner_pid(pid);
    errno = 0;
    while (fgets(line, sizeof line, maps)) {
        if (!parse_mapping(line, &name, &directory))
            continue;
        parent |= name.who.pid != found->inner;
        if (found->directory[0] == '\0' || name.who.pid == found->inner)
            snprintf(found->directory, sizeof found->directory, "/proc/%d/root%.*s", (int)pid, PYUSDT_PATH_SIZE - 32,
                     directory);
        if (name.who.pid == found->inner) {
            found->who = name.who;
            found->published = true;
        }
    }
    if (ferror(maps) && errno == EACCES) {
        fclose(maps);
        return why_not(pid, error);
    }
    fclose(maps);
    if (!found->published && !parent)
        return pyusdt_error_set(error, -ENODATA, "process %d has no pyusdt in it", (int)pid);
    return 0;
}

int pyusdt_find_rundir(pid_t pid, char *path, size_t size, struct pyusdt_error *error)
{
    struct pyusdt_process_file found;
    int n, r = pyusdt_process_find(pid, &found, error);

    if (r != 0)
        return r;
    n = snprintf(path, size, "%s", found.directory);
    return n < 0 || (size_t)n >= size ? pyusdt_error_set(error, -ENAMETOOLONG, "%s: too long", found.directory) : 0;
}

/* ---- listing ---- */

struct listing {
    struct pyusdt_session *session; /* all that pyusdt_target_open() needs of one */
    pyusdt_list_fn *fn;
    void *arg;
    uint32_t only, host; /* one process, in its namespace and in ours; 0: all */
    int seen;
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

static int list_one(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct listing *listing = arg;
    struct pyusdt_target *target;
    bool stop = false;

    if (name->kind != PYUSDT_FILE_CTL || (listing->only != 0 && name->who.pid != listing->only))
        return 0;
    target = pyusdt_target_open(listing->session, text, &name->who, listing->host, NULL);
    if (target && !pyusdt_target_is_dead(target)) {
        listing->seen++;
        stop = list_target(listing, target);
    }
    pyusdt_target_free(target);
    return stop;
}

int pyusdt_list(const char *rundir, pid_t pid, pyusdt_list_fn *fn, void *arg, struct pyusdt_error *error)
{
    struct listing listing = {.fn = fn, .arg = arg};
    struct pyusdt_process_file found;
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
    listing.session->dir = pyusdt_rundir_open(rundir, error);
    r = listing.session->dir;
    if (r >= 0) {
        r = pyusdt_rundir_each(listing.session->dir, list_one, &listing);
        close(listing.session->dir);
    }
    free(listing.session);
    return r < 0 ? r : listing.seen;
}
