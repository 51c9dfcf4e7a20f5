/* A session as a source of events. */
#ifndef PYUSDT_SESSION_SESSION_SOURCE_H
#define PYUSDT_SESSION_SESSION_SOURCE_H

#include "events/event_source.h"

#pragma GCC visibility push(hidden)

extern const struct pyusdt_event_source_ops
    pyusdt_session_source_ops; /* over a struct pyusdt_session */

#pragma GCC visibility pop

#endif
