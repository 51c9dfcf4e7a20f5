/* What dead tracers and targets have left in a run directory: sessions' bits and files, processes' control files. */
#ifndef PYUSDT_SESSION_STALE_FILES_H
#define PYUSDT_SESSION_STALE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

void pyusdt_remove_stale_files(
    int dir, uint32_t ours); /* removes it; `ours`: the slot that the caller holds */
void pyusdt_discard_file(
    int dir, const char *text,
    bool mapped); /* unlinks a file; mapped: frees its memory even if others map it */

#pragma GCC visibility pop

#endif
