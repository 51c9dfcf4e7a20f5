/*
 * Finding the control file of a process where a process does not show what it has mapped: by its name, in the caller's own
 * run directory. A process with another run directory, or in a container, is not found. See find_process.h.
 * PYUSDT_FIND_PORTABLE is for testing it on Linux.
 */
#if !defined(__linux__) || defined(PYUSDT_FIND_PORTABLE)
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "shared/os.h"
#include "discovery/namespaces.h"
#include "discovery/find_process.h"
#include "discovery/proc_handle.h"

int64_t pyusdt_read_process_uid(uint32_t pid)
{
    (void)pid;
    return -ENOSYS;
}

int pyusdt_find_process(pid_t pid, struct pyusdt_process_file *found, struct pyusdt_error *error)
{
    memset(found, 0, sizeof *found);
    if (pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH))
        return pyusdt_error_set(error, -ESRCH, "no such process: %d", (int)pid);
    return pyusdt_find_process_by_name(pid, found, error);
}

/* ---- what is seen of processes: nothing ---- */

int pyusdt_proc_open(uint32_t pid, struct pyusdt_proc_handle *handle)
{
    (void)pid;
    (void)handle;
    return -ENOTSUP;
}

void pyusdt_proc_close(const struct pyusdt_proc_handle *handle)
{
    (void)handle;
}

bool pyusdt_proc_is_same(const struct pyusdt_proc_handle *handle)
{
    (void)handle;
    return false;
}

uint64_t pyusdt_proc_age_ns(const struct pyusdt_proc_handle *handle)
{
    (void)handle;
    return 0;
}

int pyusdt_proc_open_root(const struct pyusdt_proc_handle *handle)
{
    (void)handle;
    errno = ENOTSUP;
    return -1;
}

int pyusdt_each_other_namespace(pyusdt_other_namespace_fn *fn, void *arg)
{
    (void)fn;
    (void)arg;
    return 0;
}

uint32_t pyusdt_find_host_pid(uint64_t pidns, uint32_t inner, uint64_t starttime)
{
    (void)pidns;
    (void)inner;
    (void)starttime;
    return 0;
}

#endif
