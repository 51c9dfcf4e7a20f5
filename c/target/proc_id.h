/*
 * The text "<pid.tid>" of the calling thread.
 *
 * - It is right directly after fork and raw clone too, because the kernel wipes a page in the
 *   child.
 * - There is no system call except the first time in a thread.
 * - The functions may be called from signal handlers.
 */
#ifndef PYUSDT_PROC_ID_H
#define PYUSDT_PROC_ID_H

#include <stdint.h>

#define PYUSDT_PROC_ID_SIZE 32 /* "<2147483647.2147483647>" and its NUL, rounded up */

/* The text, NUL-terminated, valid until the thread ends or forks; *length is its bytes. */
const char *pyusdt_proc_id(uint32_t *length) __attribute__((visibility("hidden")));

#endif
