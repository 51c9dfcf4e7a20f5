/* What Linux shows of a process: see proc_handle.h. */
#if defined(__linux__) && !defined(PYUSDT_FIND_PORTABLE)
#define _GNU_SOURCE
#include "discovery/proc_handle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/os.h"

#define PROC_SIZE 48 /* of "/proc/PID/task/TID" */
#define OVERFLOW_UID 65534
#define DIRECTORY (O_PATH | O_DIRECTORY | O_CLOEXEC)

struct status {
    char state;
    uint32_t uid[4]; /* real, effective, saved, of files */
    uint32_t gid[2];
    uint32_t inner;
};

/* The last of the numbers in a line. */
static uint32_t last_number(const char *at)
{
    uint32_t number;
    char *end;

    do {
        number = (uint32_t)strtoul(at, &end, 10);
        at = end;
    } while (*at == '\t');
    return number;
}

/* 0; -ESRCH: it has ended; or the error of the read. */
static int read_status(int proc, struct status *status)
{
    int found = 0, fd = openat(proc, "status", O_RDONLY | O_CLOEXEC), r = -ESRCH;
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char line[256];

    if (!file)
        r = errno == ENOENT ? -ESRCH : -errno;
    while (file && found < 4 && fgets(line, sizeof line, file)) {
        uint32_t *uid = status->uid;
        found += sscanf(line, "State: %c", &status->state) == 1;
        found += sscanf(line, "Uid: %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, uid, uid + 1,
                        uid + 2, uid + 3) == 4;
        found += sscanf(line, "Gid: %" SCNu32 " %" SCNu32, status->gid, status->gid + 1) == 2;
        if (strncmp(line, "NSpid:", 6) == 0) {
            status->inner = last_number(line + 6);
            found++;
        }
    }
    if (file && found < 4 && ferror(file) && errno != ESRCH)
        r = -errno;
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return found == 4 ? 0 : r;
}

static bool has_ended(int proc)
{
    struct status status;
    return read_status(proc, &status) == 0 && status.state == 'Z';
}

/* Of a process whose first thread has ended, which has no memory and no namespaces any more: another. */
static int another_thread(int proc)
{
    int found = -1, fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *task;

    while (tasks && found < 0 && (task = readdir(tasks)) != NULL) {
        found = task->d_name[0] == '.' ? -1 : openat(fd, task->d_name, DIRECTORY);
        if (found >= 0 && has_ended(found)) {
            close(found);
            found = -1;
        }
    }
    if (tasks)
        closedir(tasks);
    else if (fd >= 0)
        close(fd);
    return found;
}

static int open_process(struct pyusdt_proc_handle *handle)
{
    char path[PROC_SIZE];
    int r;

    snprintf(path, sizeof path, "/proc/%u", handle->pid);
    handle->proc = open(path, DIRECTORY);
    if (handle->proc < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    handle->thread = has_ended(handle->proc) ? another_thread(handle->proc) : -1;
    if (handle->thread < 0)
        handle->thread = openat(handle->proc, ".", DIRECTORY);
    if (handle->thread >= 0)
        return 0;
    r = errno == ENOENT ? -ESRCH : -errno;
    close(handle->proc);
    return r;
}

/* The number of a namespace; 0: ours. */
static int namespace_of(int thread, const char *name, uint64_t *number)
{
    struct stat ours, theirs;
    char path[PROC_SIZE];

    snprintf(path, sizeof path, "/proc/self/%s", name);
    if (fstatat(thread, name, &theirs, 0) != 0 || stat(path, &ours) != 0)
        return errno == ENOENT ? -ESRCH : -errno; /* it has ended */
    *number = ours.st_ino == theirs.st_ino ? 0 : theirs.st_ino;
    return 0;
}

/* A user of ours, by the numbers of its own user namespace; without one: the uid that the kernel shows for users without one. */
static uint32_t inner_uid(int proc, uint32_t uid)
{
    int fd = openat(proc, "uid_map", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    uint32_t inner, outer, count, found = OVERFLOW_UID;

    while (file && fscanf(file, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inner, &outer, &count) == 3)
        if (uid >= outer && uid - outer < count)
            found = inner + (uid - outer);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    return found;
}

/* All but the start time. */
static int read_identity(struct pyusdt_proc_handle *handle)
{
    struct status status;
    int r = read_status(handle->proc, &status);

    if (r != 0)
        return r;
    handle->uid = status.uid[1];
    handle->gid = status.gid[1];
    handle->one_user = status.uid[0] == handle->uid && status.uid[2] == handle->uid &&
                       status.uid[3] == handle->uid;
    handle->inner = status.inner;
    r = namespace_of(handle->thread, "ns/mnt", &handle->mounts);
    if (r == 0)
        r = namespace_of(handle->thread, "ns/user", &handle->users);
    handle->name = r == 0 && handle->users ? inner_uid(handle->proc, handle->uid) : handle->uid;
    return r;
}

/* The start time by the number, then the rest by the descriptor: that is of the process which had the number all the time. */
int pyusdt_proc_open(uint32_t pid, struct pyusdt_proc_handle *handle)
{
    struct pyusdt_os_process process;
    int r;

    *handle = (struct pyusdt_proc_handle){.pid = pid};
    r = open_process(handle);
    if (r != 0)
        return r;
    r = pyusdt_os_read_process(pid, &process);
    handle->starttime = process.starttime;
    if (r == 0)
        r = read_identity(handle);
    if (r != 0)
        pyusdt_proc_close(handle);
    return r;
}

void pyusdt_proc_close(const struct pyusdt_proc_handle *handle)
{
    close(handle->thread);
    close(handle->proc);
}

bool pyusdt_proc_is_same(const struct pyusdt_proc_handle *handle)
{
    struct pyusdt_proc_handle now = *handle;

    return read_identity(&now) == 0 && now.uid == handle->uid && now.name == handle->name &&
           now.one_user == handle->one_user && now.mounts == handle->mounts &&
           now.users == handle->users;
}

int pyusdt_proc_open_root(const struct pyusdt_proc_handle *handle)
{
    return openat(handle->thread, "root", DIRECTORY);
}

uint64_t pyusdt_proc_age_ns(const struct pyusdt_proc_handle *handle)
{
    uint64_t started = handle->starttime * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)),
             since_boot;
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    since_boot = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return since_boot > started ? since_boot - started : 0;
}

bool pyusdt_proc_is_trusted(const struct pyusdt_proc_handle *handle)
{
    return handle->uid == geteuid() && handle->one_user && handle->mounts == 0 &&
           handle->users == 0;
}

#endif
