/*
 * The limits of a process's memory and addresses on Linux (see os.h, "limits").
 *
 * The sources are /proc/self/cgroup, the memory controller below /sys/fs/cgroup (version 2 or 1),
 * /proc/meminfo and /proc/self/statm.
 *
 * - Anything that cannot be read is no limit: a system without /proc or /sys, a name of more than
 *   PATH bytes.
 */
#if defined(__linux__)
#define _GNU_SOURCE
#include "shared/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH 4096u
#define TEXT 4096u /* bytes of a file that are read; memory.stat has its counts of caches in them */

/* A version of the memory controller: its mount point, and the names of its files. */
struct controller {
    const char *mount;
    const char *limits[2];
    const char *usage;
    const char *caches[2]; /* words of memory.stat, each behind a newline */
};

static const struct controller version_1 = {"/sys/fs/cgroup/memory",
                                            {"memory.limit_in_bytes", NULL},
                                            "memory.usage_in_bytes",
                                            {"\ntotal_inactive_file ", "\ntotal_active_file "}};
static const struct controller version_2 = {"/sys/fs/cgroup",
                                            {"memory.max", "memory.high"},
                                            "memory.current",
                                            {"\ninactive_file ", "\nactive_file "}};

/* The beginning of a file, as text. false: unreadable. */
static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

/* ---- the cgroup ---- */

static bool is_controller(const char *list, const char *end, const char *name)
{
    size_t length = strlen(name);

    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list)), *stop = comma ? comma : end;
        if ((size_t)(stop - list) == length && memcmp(list, name, length) == 0)
            return true;
        list = stop + 1;
    }
    return false;
}

/* Finds the process's cgroup: its path below the mount, at the front of `path`; NULL: none. Each
 * line is "number:controllers:path". */
static const struct controller *find_cgroup(char *text, char *path)
{
    const struct controller *found = NULL;

    if (!read_text("/proc/self/cgroup", text, TEXT))
        return NULL;
    for (char *line = text, *next; *line && found != &version_1; line = next) {
        char *list = strchr(line, ':'), *at = list ? strchr(list + 1, ':') : NULL,
             *end = strchr(line, '\n');
        if (!at || !end)
            break;
        next = end + 1;
        *end = '\0';
        /* the memory controller is there, whatever else is mounted as version 2 */
        if (is_controller(list + 1, at, "memory"))
            found = &version_1;
        else if (list + 1 == at)
            found = &version_2;
        else
            continue;
        snprintf(path, PATH, "%s", at + 1);
    }
    return found;
}

static bool read_number(const struct controller *controller, const char *cgroup, const char *file,
                        uint64_t *number)
{
    char path[PATH + 64], text[32], *end;

    snprintf(path, sizeof path, "%s%s/%s", controller->mount, cgroup, file);
    if (!read_text(path, text, sizeof text))
        return false;
    *number = strtoull(text, &end, 10);
    return end != text; /* "max" is none */
}

/* Half of the cgroup's file pages: the kernel reclaims them before it ends a process. */
static uint64_t find_reclaimable(const struct controller *controller, const char *cgroup)
{
    char path[PATH + 64], text[TEXT];
    uint64_t sum = 0;

    snprintf(path, sizeof path, "%s%s/memory.stat", controller->mount, cgroup);
    if (!read_text(path, text, sizeof text))
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        const char *at = strstr(text, controller->caches[i]);
        sum += at ? strtoull(at + strlen(controller->caches[i]), NULL, 10) : 0;
    }
    return sum / 2;
}

/* One cgroup's limits. A read of memory.stat adds up counts of all processors, so it is skipped if
 * there is room enough without. */
static int call_with_cgroup(const struct controller *controller, const char *cgroup,
                            pyusdt_os_limit_fn *fn, void *arg)
{
    uint64_t least = UINT64_MAX, limit, usage, left;
    int r;

    for (unsigned i = 0; i < 2 && controller->limits[i]; i++)
        if (read_number(controller, cgroup, controller->limits[i], &limit) && limit < least)
            least = limit;
    if (least >= INT64_MAX / 4096 * 4096 ||
        !read_number(controller, cgroup, controller->usage, &usage))
        return 0; /* version 1's value for no limit */
    left = usage < least ? least - usage : 0;
    r = fn(arg, least, left);
    if (r == 0)
        return 0;
    left += find_reclaimable(controller, cgroup);
    return fn(arg, least, left < least ? left : least);
}

/* From the process's own cgroup up to the mount, which is a container's own if it has the files of
 * one. */
static int call_with_cgroups(pyusdt_os_limit_fn *fn, void *arg)
{
    char text[TEXT], path[PATH];
    const struct controller *controller = find_cgroup(text, path);
    int r = 0;

    while (controller && r == 0) {
        char *slash = strrchr(path, '/');
        if (slash && slash[1] == '\0') /* the root is "/" */
            *slash = '\0';
        r = call_with_cgroup(controller, path, fn, arg);
        slash = strrchr(path, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    return r;
}

/* ---- the machine ---- */

static bool find_line(const char *text, const char *word, uint64_t *bytes)
{
    const char *at = strstr(text, word);

    if (at)
        *bytes = strtoull(at + strlen(word), NULL, 10) * 1024;
    return at != NULL;
}

static int call_with_machine(pyusdt_os_limit_fn *fn, void *arg)
{
    uint64_t total, available;
    char text[256]; /* its first three lines */

    if (!read_text("/proc/meminfo", text, sizeof text) || !find_line(text, "MemTotal:", &total) ||
        !find_line(text, "MemAvailable:", &available))
        return 0;
    return fn(arg, total, available);
}

int pyusdt_os_memory_limits(pyusdt_os_limit_fn *fn, void *arg)
{
    int r = call_with_cgroups(fn, arg);
    return r != 0 ? r : call_with_machine(fn, arg);
}

/* ---- addresses ---- */

int pyusdt_os_address_limit(pyusdt_os_limit_fn *fn, void *arg)
{
    uint64_t used;
    struct rlimit limit;
    char text[128];

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        !read_text("/proc/self/statm", text, sizeof text))
        return 0;
    used = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
    return fn(arg, limit.rlim_cur, used < limit.rlim_cur ? limit.rlim_cur - used : 0);
}

#endif
