/* See remote_memory.h. */
#define _GNU_SOURCE
#include "pystack/remote_memory.h"

#include <errno.h>

#ifdef __linux__

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int pyusdt_memory_open(pid_t pid, struct pyusdt_memory *memory)
{
    memory->pid = pid;
    memory->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (memory->pidfd >= 0)
        return 0;
    return pid <= 0 || errno == EINVAL ? -ESRCH : -errno; /* EINVAL: it is a thread's id */
}

void pyusdt_memory_close(struct pyusdt_memory *memory)
{
    if (memory->pidfd >= 0)
        close(memory->pidfd);
    memory->pidfd = -1;
}

bool pyusdt_memory_is_same_process(const struct pyusdt_memory *memory)
{
    struct pollfd end = {.fd = memory->pidfd, .events = POLLIN};

    return memory->pidfd >= 0 && poll(&end, 1, 0) == 0;
}

int64_t pyusdt_memory_read_parts(const struct pyusdt_memory *memory,
                                 const struct pyusdt_memory_part *parts, size_t n)
{
    struct iovec here[PYUSDT_MEMORY_PARTS], there[PYUSDT_MEMORY_PARTS];
    ssize_t got;

    if (n > PYUSDT_MEMORY_PARTS)
        return -E2BIG;
    for (size_t i = 0; i < n; i++) {
        here[i] = (struct iovec){parts[i].to, parts[i].size};
        there[i] = (struct iovec){(void *)(uintptr_t)parts[i].address, parts[i].size};
    }
    got = process_vm_readv(memory->pid, here, n, there, n, 0);
    return got < 0 ? (errno == EINVAL ? -EFAULT : -errno)
                   : got; /* EINVAL: so wild that the sizes overflow */
}

int pyusdt_memory_write(const struct pyusdt_memory *memory, uint64_t address, const void *from,
                        size_t size)
{
    struct iovec here = {(void *)(uintptr_t)from, size}, there = {(void *)(uintptr_t)address, size};
    ssize_t written = process_vm_writev(memory->pid, &here, 1, &there, 1, 0);

    return written < 0 ? -errno : written == (ssize_t)size ? 0 : -EFAULT;
}

int pyusdt_memory_force(const struct pyusdt_memory *memory, uint64_t address, const void *from,
                        size_t size)
{
    char path[64];
    ssize_t written;
    int fd, r = pyusdt_memory_write(memory, address, from, size);

    if (r != -EFAULT)
        return r;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)memory->pid);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    written = pwrite(fd, from, size, (off_t)address);
    r = written < 0 ? -errno : written == (ssize_t)size ? 0 : -EFAULT;
    close(fd);
    return r;
}

#else /* other systems have another way each; none is written yet */

int pyusdt_memory_open(pid_t pid, struct pyusdt_memory *memory)
{
    *memory = (struct pyusdt_memory){pid, -1};
    return -ENOSYS;
}

void pyusdt_memory_close(struct pyusdt_memory *memory)
{
    (void)memory;
}

bool pyusdt_memory_is_same_process(const struct pyusdt_memory *memory)
{
    (void)memory;
    return false;
}

int64_t pyusdt_memory_read_parts(const struct pyusdt_memory *memory,
                                 const struct pyusdt_memory_part *parts, size_t n)
{
    (void)memory;
    (void)parts;
    (void)n;
    return -ENOSYS;
}

int pyusdt_memory_write(const struct pyusdt_memory *memory, uint64_t address, const void *from,
                        size_t size)
{
    (void)memory;
    (void)address;
    (void)from;
    (void)size;
    return -ENOSYS;
}

int pyusdt_memory_force(const struct pyusdt_memory *memory, uint64_t address, const void *from,
                        size_t size)
{
    return pyusdt_memory_write(memory, address, from, size);
}

#endif

int pyusdt_memory_read(const struct pyusdt_memory *memory, uint64_t address, void *to, size_t size)
{
    struct pyusdt_memory_part part = {address, to, size};
    int64_t got = pyusdt_memory_read_parts(memory, &part, 1);

    return got < 0 ? (int)got : got == (int64_t)size ? 0 : -EFAULT;
}

/* How many parts are whole in the first `got` bytes. */
static size_t count_whole(const struct pyusdt_memory_part *parts, size_t n, int64_t got)
{
    size_t whole = 0;

    while (whole < n && got >= (int64_t)parts[whole].size)
        got -= (int64_t)parts[whole++].size;
    return whole;
}

void pyusdt_memory_read_each(const struct pyusdt_memory *memory,
                             const struct pyusdt_memory_part *parts, size_t n, bool *read)
{
    for (size_t from = 0; from < n;) {
        size_t size = n - from < PYUSDT_MEMORY_PARTS ? n - from : PYUSDT_MEMORY_PARTS;
        size_t whole =
            count_whole(parts + from, size, pyusdt_memory_read_parts(memory, parts + from, size));

        for (size_t i = 0; i < whole; i++)
            read[from + i] = true;
        from += whole;
        if (whole < size)
            read[from++] = false; /* the kernel stops at the first that is not there */
    }
}
