/* The part of os.h that FreeBSD and macOS share. */
#if defined(__FreeBSD__) || defined(__APPLE__)
#include "shared/os.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/mount.h>
#include <unistd.h>

bool pyusdt_os_is_secure_exec(void)
{
    return issetugid() != 0;
}

bool pyusdt_os_has_process_info(void)
{
    return true;
}

/* The host sees the processes of jails under the same numbers. */
uint64_t pyusdt_os_pidns(void)
{
    return 0;
}

void pyusdt_os_program_name(char *name, size_t size)
{
    snprintf(name, size, "%s", getprogname());
}

/* Private memory in its place: the file's pages are freed when no process maps them any more. */
void pyusdt_os_discard(void *at, size_t size)
{
    mmap(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_FIXED, -1, 0);
}

bool pyusdt_os_is_in_memory(int dir)
{
    struct statfs fs;
    return fstatfs(dir, &fs) == 0 && strcmp(fs.f_fstypename, "tmpfs") == 0;
}

int pyusdt_os_open_in(int dir, const char *name, int flags, unsigned mode)
{
    int fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode);
    return fd < 0 ? -errno : fd;
}

int pyusdt_os_open_unnamed(void)
{
    char path[] = "/tmp/pyusdt-XXXXXX";
    int fd = mkstemp(path);

    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

int pyusdt_os_random(void *bytes, size_t size)
{
    arc4random_buf(bytes, size);
    return 0;
}
#endif
