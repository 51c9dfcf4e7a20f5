/* Filling in struct pyusdt_error (pyusdt.h): functions that can fail for more reasons than an errno tells take
 * one of the caller's (or NULL), and return -errno.  After a success its contents are undefined. */
#ifndef PYUSDT_ERROR_H
#define PYUSDT_ERROR_H

#include <stdarg.h>
#include <stdio.h>

#include "../include/pyusdt.h"

/* Fill *err, which may be NULL; returns code. */
__attribute__((format(printf, 3, 4))) static inline int pyusdt_error_set(struct pyusdt_error *err, int code,
                                                                          const char *format, ...)
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
