/* Wakes an event loop of asyncio that waits for input: a NUL byte into the socket pair by which the loop wakes itself. It ignores that byte. */
#ifndef PYUSDT_ATTACH_WAKE_SOCKET_H
#define PYUSDT_ATTACH_WAKE_SOCKET_H

#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/*
 * fd: of the process.  0, or -errno.
 *
 * - The process is untrusted. A byte goes only into a connected stream of AF_UNIX whose other end was made by the same process,
 *   and without waiting.
 * - A forked child sends it with the rights of uid and gid only, since a receiver may ask who has sent something.
 */
int pyusdt_wake_socket(pid_t pid, int fd, uint32_t uid, uint32_t gid);

#pragma GCC visibility pop

#endif
