/*
 * Shared mappings that survive the truncation of their file.
 *
 * Touching a mapped page beyond the end of its file raises SIGBUS. Our handler puts a private page of zeros there and
 * the access goes on: what it reads then is zeros, what it writes goes nowhere, and all users of these mappings check
 * what they read. SIGBUS elsewhere goes to the handler that was there before. (A handler that the program installs
 * later, without calling ours, takes this protection away.)
 */
#ifndef PYUSDT_SIGBUS_GUARD_H
#define PYUSDT_SIGBUS_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* mmap(), guarded. at: NULL, or an address that pyusdt_guard_map() or _reserve() gave and that is replaced. NULL: errno. */
void *pyusdt_guard_map(void *at, size_t size, int protection, int fd);

/* A ring's address range: size bytes of the file twice in a row, so that what wraps is contiguous. */
void *pyusdt_guard_map_twice(void *at, size_t size, int protection, int fd, off_t offset);

/* Address space alone, to be replaced later. */
void *pyusdt_guard_reserve(size_t size);

/* munmap(). */
void pyusdt_guard_unmap(void *at, size_t size);

#pragma GCC visibility pop

#endif
