/* Processes in other namespaces, on Linux: see namespaces.h. */
#if defined(__linux__) && !defined(PYUSDT_FIND_PORTABLE)
#define _GNU_SOURCE
#include "discovery/namespaces.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/os.h"
#include "discovery/proc_handle.h"

struct look {
    int proc; /* /proc */
    uint64_t ours;
    pyusdt_elsewhere_fn *fn;
    void *arg;
    uint64_t pidns, starttime;
    uint32_t inner, found;
};

/* The number of a namespace of this process, or 0. */
static uint64_t namespace_of(int proc, const char *pid, const char *name)
{
    struct stat st;
    char path[64];

    snprintf(path, sizeof path, "%.16s/ns/%s", pid, name);
    return fstatat(proc, path, &st, 0) == 0 ? st.st_ino : 0;
}

static int each_process(struct look *look, int (*fn)(void *arg, const char *pid))
{
    int r;

    look->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (look->proc < 0)
        return -errno;
    r = pyusdt_os_each_name(look->proc, fn, look);
    close(look->proc);
    return r;
}

static int one_elsewhere(void *arg, const char *pid)
{
    const struct look *look = arg;
    uint64_t mounts = isdigit((unsigned char)pid[0]) ? namespace_of(look->proc, pid, "mnt") : 0;
    struct stat st;

    if (mounts == 0 || mounts == look->ours || fstatat(look->proc, pid, &st, 0) != 0)
        return 0;
    return look->fn(look->arg, (uint32_t)strtoul(pid, NULL, 10), mounts, st.st_uid);
}

int pyusdt_elsewhere_each(pyusdt_elsewhere_fn *fn, void *arg)
{
    struct look look = {.fn = fn, .arg = arg, .ours = namespace_of(AT_FDCWD, "/proc/self", "mnt")};

    return look.ours != 0 ? each_process(&look, one_elsewhere) : 0;
}

static int is_it(void *arg, const char *pid)
{
    struct look *look = arg;
    struct pyusdt_seen seen;

    if (!isdigit((unsigned char)pid[0]) || namespace_of(look->proc, pid, "pid") != look->pidns ||
        pyusdt_seen_open((uint32_t)strtoul(pid, NULL, 10), &seen) != 0)
        return 0;
    if (seen.inner == look->inner && seen.starttime == look->starttime)
        look->found = seen.pid;
    pyusdt_seen_close(&seen);
    return look->found != 0;
}

uint32_t pyusdt_host_pid(uint64_t pidns, uint32_t inner, uint64_t starttime)
{
    struct look look = {.pidns = pidns, .inner = inner, .starttime = starttime};

    if (pidns != 0)
        each_process(&look, is_it);
    return look.found;
}

#endif
