/*
 * Protects shared mappings against truncation of their file.
 *
 * An access to a mapped page beyond the end of its file raises SIGBUS. Our handler puts a private
 * page of zeros there, and the access continues. Reads return zeros and writes are lost; all users
 * of these mappings check what they read. The handler passes any other SIGBUS to the previous
 * handler. A handler that the program installs later without calling ours removes this protection.
 */
#ifndef PYUSDT_SIGBUS_GUARD_H
#define PYUSDT_SIGBUS_GUARD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* mmap(), guarded. at: NULL, or an address that pyusdt_guard_map() or _reserve() gave and that
 * is replaced. NULL: errno. */
void *pyusdt_guard_map(void *at, size_t size, int protection, int fd);

/* A ring's address range: size bytes of the file twice in a row, so that wrapped events are
 * contiguous. */
void *pyusdt_guard_map_twice(void *at, size_t size, int protection, int fd, off_t offset);

/* Address space only, to be replaced later. */
void *pyusdt_guard_reserve(size_t size);

/* munmap(). */
void pyusdt_guard_unmap(void *at, size_t size);

#pragma GCC visibility pop

#endif
