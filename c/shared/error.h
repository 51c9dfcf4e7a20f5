/*
 * Fills in struct pyusdt_error (pyusdt.h).
 *
 * Functions that can fail for more reasons than an errno distinguishes take a pointer to the
 * caller's struct (or NULL) and return -errno. After a success its contents are undefined.
 */
#ifndef PYUSDT_ERROR_H
#define PYUSDT_ERROR_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "../include/pyusdt.h"

/* Whether an error is a temporary lack of this process or of the system, and not an error of the
 * request: the same call may succeed later. */
static inline bool pyusdt_is_shortage(int code)
{
    return code == -ENOMEM || code == -EMFILE || code == -ENFILE || code == -EAGAIN ||
           code == -EINTR || code == -EIO || code == -ENOBUFS;
}

/* Fill *err, which may be NULL; returns code. */
__attribute__((format(printf, 3, 4))) static inline int
pyusdt_error_set(struct pyusdt_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->code = code;
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
    }
    return code;
}

#endif
