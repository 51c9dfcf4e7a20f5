/* See exceptions_files.h. */
#define _GNU_SOURCE
#include "discovery/exceptions_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "discovery/rundir_iter.h"
#include "shared/exceptions_file.h"
#include "shared/os.h"

struct search {
    uint32_t pid, lookups;
    int dir;
    pyusdt_exceptions_fn *fn;
    void *arg;
};

/* Who has written it; false: it is not that process. */
static bool read_process(struct search *search, const struct pyusdt_name *name,
                         struct pyusdt_exceptions_found *found)
{
    struct pyusdt_exceptions header;
    uint32_t local;

    if (pread(found->fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.magic != PYUSDT_EXCEPTIONS_MAGIC)
        return false;
    local = pyusdt_find_local_pid(header.pidns, &name->process, &search->lookups);
    found->is_alive =
        header.pidns == pyusdt_os_pidns() ? pyusdt_is_alive(&name->process) : local != 0;
    found->pid = local != 0 ? local : name->process.pid;
    found->starttime = name->process.starttime;
    return search->pid == 0 || found->pid == search->pid;
}

static int visit_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct search *search = arg;
    struct pyusdt_exceptions_found found = {.name = text};
    uint64_t size;
    int r = 0;

    if (name->kind != PYUSDT_FILE_EXCEPTIONS)
        return 0;
    found.fd = pyusdt_file_open(search->dir, text, O_RDONLY, &size);
    if (found.fd < 0)
        return 0;
    if (read_process(search, name, &found))
        r = search->fn(search->arg, &found);
    close(found.fd);
    return r;
}

static int visit_rundir(void *arg, const struct pyusdt_rundir_handle *in)
{
    struct search *search = arg;
    int r;

    search->dir = in->dir;
    search->lookups = 0;
    r = pyusdt_rundir_each(in->dir, visit_file, search);
    return r == -E2BIG ? 0 : r;
}

int pyusdt_each_exceptions_file(uint32_t pid, pyusdt_exceptions_fn *fn, void *arg,
                                struct pyusdt_error *error)
{
    struct search search = {.pid = pid, .fn = fn, .arg = arg};

    return pyusdt_each_rundir(NULL, visit_rundir, &search, error);
}
