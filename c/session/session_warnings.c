/* Warnings of a session: each text once, in a bounded number. */
#define _GNU_SOURCE
#include "session/session_warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "session/session_state.h"

static char no_memory[] =
    "a message about processes that are not traced is lost: there was no memory for it";

/* Each text once, as many as fit. Whether it is new. */
__attribute__((format(printf, 2, 0))) static bool add_warning(struct pyusdt_session *session,
                                                              const char *format, va_list values)
{
    char text[2 * PYUSDT_PATH_SIZE], *kept;
    bool more = session->full;

    vsnprintf(text, sizeof text, format, values);
    for (uint32_t i = 0; i < session->nwarnings; i++)
        if (strcmp(session->warning[i], text) == 0)
            return false;
    session->full = session->nwarnings == PYUSDT_WARNINGS_MAX;
    if (session->full)
        return !more;
    kept = strdup(text);
    session->warning[session->nwarnings++] = kept ? kept : no_memory;
    return true;
}

void pyusdt_session_warn(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add_warning(session, format, values);
    va_end(values);
}

void pyusdt_session_warn_failure(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    session->failures += add_warning(session, format, values);
    va_end(values);
}

void pyusdt_session_warn_refusal(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    session->refusals += add_warning(session, format, values);
    va_end(values);
}

void pyusdt_warnings_free(struct pyusdt_session *session)
{
    for (uint32_t i = 0; i < session->nwarnings; i++)
        if (session->warning[i] != no_memory)
            free(session->warning[i]);
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

void pyusdt_session_warn_untrusted(struct pyusdt_session *session, const char *format, ...)
{
    char text[2 * PYUSDT_PATH_SIZE];
    va_list values;
    uint64_t hash;
    uint32_t n = session->untrusted.n;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    hash = hash_text(text);
    for (uint32_t i = 0; i < n; i++)
        if (session->untrusted.hash[i] == hash)
            return;
    if (n == PYUSDT_UNTRUSTED_WARNINGS_COUNTED ||
        (n < PYUSDT_UNTRUSTED_WARNINGS_KEPT && !(session->untrusted.text[n] = strdup(text))))
        return;
    session->untrusted.hash[session->untrusted.n++] = hash;
}

const char *pyusdt_session_untrusted_warning(const struct pyusdt_session *session, uint32_t n,
                                             uint32_t *count)
{
    *count = session->untrusted.n;
    return n < session->untrusted.n && n < PYUSDT_UNTRUSTED_WARNINGS_KEPT
               ? session->untrusted.text[n]
               : NULL;
}

const char *pyusdt_session_warning(const struct pyusdt_session *session, uint32_t n)
{
    return n < session->nwarnings ? session->warning[n] : NULL;
}

const char *pyusdt_space_advice(int dir, char *text, size_t size)
{
    const unsigned needed =
        (unsigned)((sizeof(struct pyusdt_area) + PYUSDT_RING_START + 1023) / 1024);
    struct statvfs fs;

    text[0] = '\0';
    if (fstatvfs(dir, &fs) == 0)
        snprintf(
            text, size,
            " (%llu of its file system's %llu KiB are free; a process needs %u, and up to bufsize for each thread). "
            "Make room there, let buffers be smaller (-b 64k), or set PYUSDT_RUNDIR, for pydtrace and for what it traces, "
            "to a directory elsewhere",
            (unsigned long long)fs.f_bavail * fs.f_frsize / 1024,
            (unsigned long long)fs.f_blocks * fs.f_frsize / 1024, needed);
    return text;
}
