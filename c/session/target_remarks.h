/*
 * Remarks: what traced processes say of their probes (include/pyusdt.h, "remarks").
 *
 * - A remark about a probe that the session wants becomes a warning, or a hint that the caller shows if it applies.
 * - A process has PYUSDT_REMARKS remarks at a time; a session keeps a bounded number of warnings and hints.
 */
#ifndef PYUSDT_SESSION_TARGET_REMARKS_H
#define PYUSDT_SESSION_TARGET_REMARKS_H

#include <stdint.h>

#include "pyusdt.h"

struct pyusdt_session;
struct pyusdt_target;

#pragma GCC visibility push(hidden)

void pyusdt_target_read_remarks(struct pyusdt_session *session, struct pyusdt_target *target);

/* The n-th hint, and its kind; NULL: there are no more. */
const char *pyusdt_session_hint(const struct pyusdt_session *session, uint32_t n,
                                enum pyusdt_remark *kind);

#pragma GCC visibility pop

#endif
