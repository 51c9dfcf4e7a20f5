/* The FreeBSD part of os.h. */
#if defined(__FreeBSD__)
#include "shared/os.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <pthread_np.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/sysctl.h>
#include <sys/thr.h>
#include <sys/types.h>
#include <sys/user.h>
#include <unistd.h>

uint32_t pyusdt_os_tid(void)
{
    return (uint32_t)pthread_getthreadid_np();
}

bool pyusdt_os_has_thread_ended(uint32_t tid)
{
    return thr_kill((long)tid, 0) != 0 && errno == ESRCH;
}

void pyusdt_os_name_thread(const char *name)
{
    pthread_set_name_np(pthread_self(), name);
}

int pyusdt_os_read_process(uint32_t pid, struct pyusdt_os_process *process)
{
    int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid != 0 ? (int)pid : (int)getpid()};
    struct kinfo_proc found;
    size_t size = sizeof found;

    *process = (struct pyusdt_os_process){0, 0, false};
    if (sysctl(name, 4, &found, &size, NULL, 0) != 0)
        return -errno;
    if (size == 0)
        return -ESRCH;
    process->starttime =
        (uint64_t)found.ki_start.tv_sec * 1000000u + (uint64_t)found.ki_start.tv_usec;
    process->parent = (uint32_t)found.ki_ppid;
    process->ended = found.ki_stat == SZOMB;
    return 0;
}

bool pyusdt_os_wipe_on_fork(void *at, size_t size)
{
    return minherit(at, size, INHERIT_ZERO) == 0;
}

void pyusdt_os_discard_file(int fd, uint64_t size)
{
#if defined(SPACECTL_DEALLOC)
    struct spacectl_range hole = {.r_offset = 0, .r_len = (off_t)size};
    (void)fspacectl(fd, SPACECTL_DEALLOC, &hole, 0, NULL);
#else
    (void)fd, (void)size;
#endif
}

int pyusdt_os_allocate(int fd, uint64_t at, uint64_t size)
{
    int r = pyusdt_os_file_limit(at + size);
    struct stat st;

    if (r != 0)
        return r;
    do
        r = posix_fallocate(fd, (off_t)at, (off_t)size);
    while (r == EINTR);
    if (r != EINVAL && r != EOPNOTSUPP && r != ENODEV)
        return -r;
    if (fstat(fd, &st) != 0)
        return -errno;
    return at + size > (uint64_t)st.st_size && ftruncate(fd, (off_t)(at + size)) != 0 ? -errno : 0;
}

int pyusdt_os_each_name(int dir, int (*fn)(void *arg, const char *name), void *arg)
{
    _Alignas(struct dirent) char buffer[8192];
    off_t base;

    if (lseek(dir, 0, SEEK_SET) < 0)
        return -errno;
    for (;;) {
        ssize_t n = getdirentries(dir, buffer, sizeof buffer, &base);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        for (ssize_t at = 0; at < n;) {
            const struct dirent *entry = (const struct dirent *)(const void *)(buffer + at);
            at += entry->d_reclen;
            if (fn(arg, entry->d_name) != 0)
                return 0;
        }
    }
}

#endif
