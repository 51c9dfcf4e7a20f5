/*
 * Warnings of a session: what the user should know of processes that are not traced, or not completely.
 *
 * - Each text is kept once, and their number is bounded.
 * - Other users' processes, and those of containers, may cause any number of warnings: the first few of these are kept, the others are
 *   counted.
 */
#ifndef PYUSDT_SESSION_SESSION_WARNINGS_H
#define PYUSDT_SESSION_SESSION_WARNINGS_H

#include <stddef.h>
#include <stdint.h>

struct pyusdt_session;

#define PYUSDT_ADVICE_SIZE 384

#pragma GCC visibility push(hidden)

void pyusdt_session_warn(struct pyusdt_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of another user's process, or one of a container. */
void pyusdt_session_warn_untrusted(struct pyusdt_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A process, ring or directory cannot be read for the moment: the warning also counts as a failure. */
void pyusdt_session_warn_failure(struct pyusdt_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A process does not give what the session wants: the warning also counts as a refusal. */
void pyusdt_session_warn_refusal(struct pyusdt_session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pyusdt_warnings_free(struct pyusdt_session *session);

/* The n-th warning; NULL: there are no more. */
const char *pyusdt_session_warning(const struct pyusdt_session *session, uint32_t n);

/* The n-th warning of other users' processes and of those of containers, of which the first few are kept; *count: how many there are. */
const char *pyusdt_session_untrusted_warning(const struct pyusdt_session *session, uint32_t n,
                                             uint32_t *count);

/* What the user can do if the file system of the directory is full: an end for a warning, in `text`, which it returns. */
const char *pyusdt_space_advice(int dir, char *text, size_t size);

#pragma GCC visibility pop

#endif
