/* What finding a process has in common on all systems. */
#define _GNU_SOURCE
#include "discovery/find_process.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"

int pyusdt_find_rundir(pid_t pid, char *path, size_t size, struct pyusdt_error *error)
{
    struct pyusdt_process_file found;
    int r = pyusdt_find_process(pid, &found, error);

    if (r != 0)
        return r;
    close(found.in.dir);
    snprintf(path, size, "%s", found.in.path);
    return found.published ? 0 : 1;
}

static int compare_name(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct pyusdt_process_file *found = arg;

    (void)text;
    if (name->kind != PYUSDT_FILE_CTL || name->process.pid != found->inner ||
        !pyusdt_is_alive(&name->process))
        return 0;
    found->who = name->process;
    found->published = true;
    return 0; /* of several instances, any is the process's */
}

int pyusdt_find_process_by_name(pid_t pid, struct pyusdt_process_file *found,
                                struct pyusdt_error *error)
{
    int r;

    memset(found, 0, sizeof *found);
    found->inner = (uint32_t)pid;
    r = pyusdt_rundir_open_named(NULL, &found->in, error);
    if (r != 0)
        return r;
    r = pyusdt_rundir_each(found->in.dir, compare_name, found);
    if (r == 0 && found->published)
        return 0;
    close(found->in.dir);
    if (r != 0)
        return pyusdt_error_set(error, r, "run directory %s: %s", found->in.path, strerror(-r));
    return pyusdt_error_set(error, -ENODATA,
                            "process %d has no pyusdt in it, or another run directory than %s",
                            (int)pid, found->in.path);
}
