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

/* Once each; who makes more of it than fits is not worth more words. Whether it is new. */
__attribute__((format(printf, 2, 0))) static bool add_trouble(struct pyusdt_session *session,
                                                              const char *format, va_list values)
{
    char text[2 * PYUSDT_PATH_SIZE], *kept;
    bool more = session->full;

    vsnprintf(text, sizeof text, format, values);
    for (uint32_t i = 0; i < session->ntroubles; i++)
        if (strcmp(session->trouble[i], text) == 0)
            return false;
    session->full = session->ntroubles == PYUSDT_TROUBLES_MAX;
    if (session->full)
        return !more;
    kept = strdup(text);
    session->trouble[session->ntroubles++] = kept ? kept : no_memory;
    return true;
}

void pyusdt_session_trouble(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    add_trouble(session, format, values);
    va_end(values);
}

void pyusdt_session_failed(struct pyusdt_session *session, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    session->failures += add_trouble(session, format, values);
    va_end(values);
}

void pyusdt_troubles_free(struct pyusdt_session *session)
{
    for (uint32_t i = 0; i < session->ntroubles; i++)
        if (session->trouble[i] != no_memory)
            free(session->trouble[i]);
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash;
}

void pyusdt_session_stranger(struct pyusdt_session *session, const char *format, ...)
{
    char text[2 * PYUSDT_PATH_SIZE];
    va_list values;
    uint64_t hash;
    uint32_t n = session->strangers.n;

    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    hash = hash_of(text);
    for (uint32_t i = 0; i < n; i++)
        if (session->strangers.hash[i] == hash)
            return;
    if (n == PYUSDT_STRANGERS_COUNTED ||
        (n < PYUSDT_STRANGERS_TOLD && !(session->strangers.text[n] = strdup(text))))
        return;
    session->strangers.hash[session->strangers.n++] = hash;
}

const char *pyusdt_session_stranger_told(const struct pyusdt_session *session, uint32_t n,
                                         uint32_t *count)
{
    *count = session->strangers.n;
    return n < session->strangers.n && n < PYUSDT_STRANGERS_TOLD ? session->strangers.text[n]
                                                                 : NULL;
}

const char *pyusdt_session_told(const struct pyusdt_session *session, uint32_t n)
{
    return n < session->ntroubles ? session->trouble[n] : NULL;
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
