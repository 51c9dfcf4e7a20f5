/*
 * The memory of another process, read (in one case written) without stopping it.
 *
 * - An address that is not there is -EFAULT.
 * - If pyusdt_memory_is_same_process() returns true, all that was read before came from the process
 *   that had the id when it was opened.
 * - A page that the process itself provides (userfaultfd, FUSE) can delay a read for any time: a
 *   caller that reads for another user needs a watchdog.
 */
#ifndef PYUSDT_PYSTACK_REMOTE_MEMORY_H
#define PYUSDT_PYSTACK_REMOTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct pyusdt_memory {
    pid_t pid;
    int pidfd; /* -1: closed */
};

struct pyusdt_memory_part {
    uint64_t address;
    void *to;
    size_t size;
};

enum { PYUSDT_MEMORY_PARTS = 1024 };

#pragma GCC visibility push(hidden)

/* 0, -ESRCH, -ENOSYS before Linux 5.3. */
int pyusdt_memory_open(pid_t pid, struct pyusdt_memory *memory);
void pyusdt_memory_close(struct pyusdt_memory *memory);

/* False once the process has ended. */
bool pyusdt_memory_is_same_process(const struct pyusdt_memory *memory);

/* Bytes that could be read from the beginning of the parts on, which are at most PYUSDT_MEMORY_PARTS; -errno if none. */
int64_t pyusdt_memory_read_parts(const struct pyusdt_memory *memory,
                                 const struct pyusdt_memory_part *parts, size_t n);

/* Each of the parts by itself, by as few system calls as the kernel permits; read[i]: all of part i could be read.  n: any number. */
void pyusdt_memory_read_each(const struct pyusdt_memory *memory,
                             const struct pyusdt_memory_part *parts, size_t n, bool *read);

/* 0 if all of it could be read. */
int pyusdt_memory_read(const struct pyusdt_memory *memory, uint64_t address, void *to, size_t size);

/* 0 if all of it could be written; for c/attach/, which says what. */
int pyusdt_memory_write(const struct pyusdt_memory *memory, uint64_t address, const void *from,
                        size_t size);

/* The same, also into private memory that the process may only read: the kernel makes a page of its own for it. */
int pyusdt_memory_force(const struct pyusdt_memory *memory, uint64_t address, const void *from,
                        size_t size);

#pragma GCC visibility pop

#endif
