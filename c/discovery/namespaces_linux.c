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

struct walk {
    int proc; /* /proc */
    uint64_t ours;
    pyusdt_other_namespace_fn *fn;
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

static int each_process(struct walk *walk, int (*fn)(void *arg, const char *pid))
{
    int r;

    walk->proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (walk->proc < 0)
        return -errno;
    r = pyusdt_os_each_name(walk->proc, fn, walk);
    close(walk->proc);
    return r;
}

static int visit_process(void *arg, const char *pid)
{
    const struct walk *walk = arg;
    uint64_t mounts = isdigit((unsigned char)pid[0]) ? namespace_of(walk->proc, pid, "mnt") : 0;
    struct stat st;

    if (mounts == 0 || mounts == walk->ours || fstatat(walk->proc, pid, &st, 0) != 0)
        return 0;
    return walk->fn(walk->arg, (uint32_t)strtoul(pid, NULL, 10), mounts, st.st_uid);
}

int pyusdt_each_other_namespace(pyusdt_other_namespace_fn *fn, void *arg)
{
    struct walk walk = {.fn = fn, .arg = arg, .ours = namespace_of(AT_FDCWD, "/proc/self", "mnt")};

    return walk.ours != 0 ? each_process(&walk, visit_process) : 0;
}

static int match_pid(void *arg, const char *pid)
{
    struct walk *walk = arg;
    struct pyusdt_proc_handle handle;

    if (!isdigit((unsigned char)pid[0]) || namespace_of(walk->proc, pid, "pid") != walk->pidns ||
        pyusdt_proc_open((uint32_t)strtoul(pid, NULL, 10), &handle) != 0)
        return 0;
    if (handle.inner == walk->inner && handle.starttime == walk->starttime)
        walk->found = handle.pid;
    pyusdt_proc_close(&handle);
    return walk->found != 0;
}

uint32_t pyusdt_find_host_pid(uint64_t pidns, uint32_t inner, uint64_t starttime)
{
    struct walk walk = {.pidns = pidns, .inner = inner, .starttime = starttime};

    if (pidns != 0)
        each_process(&walk, match_pid);
    return walk.found;
}

#endif
