/*
 * A flight recorder's file (layout.h: struct pyusdt_flight_info; its maker may live or be dead, and is untrusted), as a
 * recording: one format for all that is replayed.
 */
#ifndef PYUSDT_RECORDING_FLIGHT_READER_H
#define PYUSDT_RECORDING_FLIGHT_READER_H

#include "shared/error.h"

#pragma GCC visibility push(hidden)

/* Takes fd over. A recording's descriptor, at its beginning, in private memory; or -errno. */
int pyusdt_flight_convert(int fd, struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
