/*
 * Which build of pyusdt this is, and the one sentence that is said wherever it meets another that it does not understand.
 */
#ifndef PYUSDT_SESSION_BUILD_VERSION_H
#define PYUSDT_SESSION_BUILD_VERSION_H

#include "shared/layout.h"

#pragma GCC visibility push(hidden)

/* This build, for people: "0.1.0, commit 4a3868d3 (layout 9)". */
const char *pyusdt_build_text(void);

/* Fills in -EPROTONOSUPPORT and the sentence, and returns that. what: "process 17"; header: of its control file, in any layout. */
int pyusdt_build_set_error(const char *what, const struct pyusdt_ctl_header *header,
                           struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
