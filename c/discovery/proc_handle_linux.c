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

/* 0; -ESRCH: it has ended; or why it can not be read. */
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

static int open_process(struct pyusdt_seen *seen)
{
    char path[PROC_SIZE];
    int r;

    snprintf(path, sizeof path, "/proc/%u", seen->pid);
    seen->proc = open(path, DIRECTORY);
    if (seen->proc < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    seen->thread = has_ended(seen->proc) ? another_thread(seen->proc) : -1;
    if (seen->thread < 0)
        seen->thread = openat(seen->proc, ".", DIRECTORY);
    if (seen->thread >= 0)
        return 0;
    r = errno == ENOENT ? -ESRCH : -errno;
    close(seen->proc);
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

/* A user of ours, by the numbers of its own user namespace; without one: what the kernel shows for nobody in particular. */
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
static int look(struct pyusdt_seen *seen)
{
    struct status status;
    int r = read_status(seen->proc, &status);

    if (r != 0)
        return r;
    seen->uid = status.uid[1];
    seen->gid = status.gid[1];
    seen->one_user =
        status.uid[0] == seen->uid && status.uid[2] == seen->uid && status.uid[3] == seen->uid;
    seen->inner = status.inner;
    r = namespace_of(seen->thread, "ns/mnt", &seen->mounts);
    if (r == 0)
        r = namespace_of(seen->thread, "ns/user", &seen->users);
    seen->name = r == 0 && seen->users ? inner_uid(seen->proc, seen->uid) : seen->uid;
    return r;
}

/* The start time by the number, then the rest by the descriptor: that is of the process which had the number all the time. */
int pyusdt_seen_open(uint32_t pid, struct pyusdt_seen *seen)
{
    struct pyusdt_os_process process;
    int r;

    *seen = (struct pyusdt_seen){.pid = pid};
    r = open_process(seen);
    if (r != 0)
        return r;
    r = pyusdt_os_read_process(pid, &process);
    seen->starttime = process.starttime;
    if (r == 0)
        r = look(seen);
    if (r != 0)
        pyusdt_seen_close(seen);
    return r;
}

void pyusdt_seen_close(const struct pyusdt_seen *seen)
{
    close(seen->thread);
    close(seen->proc);
}

bool pyusdt_seen_is_same(const struct pyusdt_seen *seen)
{
    struct pyusdt_seen now = *seen;

    return look(&now) == 0 && now.uid == seen->uid && now.name == seen->name &&
           now.one_user == seen->one_user && now.mounts == seen->mounts && now.users == seen->users;
}

int pyusdt_seen_root(const struct pyusdt_seen *seen)
{
    return openat(seen->thread, "root", DIRECTORY);
}

uint64_t pyusdt_seen_age(const struct pyusdt_seen *seen)
{
    uint64_t started = seen->starttime * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)), since_boot;
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    since_boot = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return since_boot > started ? since_boot - started : 0;
}

bool pyusdt_seen_is_ours(const struct pyusdt_seen *seen)
{
    return seen->uid == geteuid() && seen->one_user && seen->mounts == 0 && seen->users == 0;
}

#endif
