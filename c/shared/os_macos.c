/* The macOS part of os.h. */
#if defined(__APPLE__)
#include "shared/os.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/sysctl.h>
#include <unistd.h>

uint32_t pyusdt_os_tid(void)
{
    uint64_t tid = 0;
    pthread_threadid_np(NULL, &tid);
    return (uint32_t)tid != 0 ? (uint32_t)tid : 1;
}

bool pyusdt_os_has_thread_ended(uint32_t tid)
{
    (void)tid;
    return false; /* a thread that ended inside a ring keeps it until the session ends */
}

void pyusdt_os_name_thread(const char *name)
{
    pthread_setname_np(name);
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
    process->starttime = (uint64_t)found.kp_proc.p_starttime.tv_sec * 1000000u +
                         (uint64_t)found.kp_proc.p_starttime.tv_usec;
    process->parent = (uint32_t)found.kp_eproc.e_ppid;
    process->ended = found.kp_proc.p_stat == SZOMB;
    return 0;
}

bool pyusdt_os_wipe_on_fork(void *at, size_t size)
{
    (void)at, (void)size;
    return false;
}

void pyusdt_os_discard_file(int fd, uint64_t size)
{
    struct fpunchhole hole = {.fp_offset = 0, .fp_length = (off_t)size};
    (void)fcntl(fd, F_PUNCHHOLE, &hole);
}

int pyusdt_os_allocate(int fd, uint64_t at, uint64_t size)
{
    struct stat st;
    fstore_t more = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE};

    if (fstat(fd, &st) != 0)
        return -errno;
    if (at + size <= (uint64_t)st.st_size)
        return 0;
    if (pyusdt_os_file_limit(at + size) != 0)
        return -EFBIG;
    more.fst_length = (off_t)(at + size) - st.st_size;
    if (fcntl(fd, F_PREALLOCATE, &more) != 0 && errno != ENOTSUP && errno != EINVAL)
        return -errno;
    return ftruncate(fd, (off_t)(at + size)) != 0 ? -errno : 0;
}

int pyusdt_os_each_name(int dir, int (*fn)(void *arg, const char *name), void *arg)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int r;

    if (!stream) {
        r = -errno;
        if (fd >= 0)
            close(fd);
        return r;
    }
    errno = 0;
    do
        entry = readdir(stream);
    while (entry && fn(arg, entry->d_name) == 0);
    r = entry ? 0 : -errno;
    closedir(stream);
    return r;
}

#endif
