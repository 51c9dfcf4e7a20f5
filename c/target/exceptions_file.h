/*
 * Makes the file of a process's last exceptions (shared/exceptions_file.h), in memory or not at all.
 *
 * - The file of a dead process stays, with at most six others, until the machine stops.
 */
#ifndef PYUSDT_TARGET_EXCEPTIONS_FILE_H
#define PYUSDT_TARGET_EXCEPTIONS_FILE_H

#include "shared/exceptions_file.h"

#pragma GCC visibility push(hidden)

/* A new file of this process, which it publishes if it is a forked child; for good. NULL: errno, ENOTSUP:
 * the run directory is on a disk. */
struct pyusdt_exceptions *pyusdt_exceptions_make(uint32_t python);

/* Nanoseconds since 1970. */
uint64_t pyusdt_wall_time(void);

#pragma GCC visibility pop

#endif
