/*
 * Recordings of many hosts, each of which comes in portions, as one source of events.
 *
 * - Recordings (recording.h) are untrusted. A damaged one does not affect the others, and no host
 *   takes another's room for names of frames.
 * - Event times are by the tracer's clock, and those of one recording do not go back.
 * - A poll gives events of the recording that was selected last; targets have numbers of their own
 *   here.
 */
#ifndef PYUSDT_RECORDING_MERGED_REPLAY_H
#define PYUSDT_RECORDING_MERGED_REPLAY_H

#include "recording/recording_reader.h"

#pragma GCC visibility push(hidden)

struct pyusdt_merged;

/* share: how many processes of one host have names for their frames; those beyond it have none. */
int pyusdt_merged_new(uint32_t share, struct pyusdt_merged **out);
void pyusdt_merged_free(struct pyusdt_merged *merged);
/* One more, of host 1, 2, …; its number, or -ENOMEM. */
int pyusdt_merged_add(struct pyusdt_merged *merged, uint32_t host);
/* Its next portion, and what is to be added to its times, ns, from now on. */
int pyusdt_merged_put(struct pyusdt_merged *merged, uint32_t source, const void *data, size_t size,
                      int64_t shift);
size_t pyusdt_merged_unread(const struct pyusdt_merged *merged,
                            uint32_t source); /* bytes that were not read yet */
uint64_t pyusdt_merged_memory(const struct pyusdt_merged *merged,
                              uint32_t source); /* bytes of memory, about, that stay */
void pyusdt_merged_finish(struct pyusdt_merged *merged,
                          uint32_t source); /* no portion comes any more */
bool pyusdt_merged_next(struct pyusdt_merged *merged, uint32_t source,
                        uint64_t *time); /* by our clock */
const char *pyusdt_merged_damage(const struct pyusdt_merged *merged, uint32_t source);
void pyusdt_merged_select(struct pyusdt_merged *merged, uint32_t source);
uint32_t
pyusdt_merged_main_target(const struct pyusdt_merged *merged,
                          uint32_t source); /* its $target, 0: none, or it has not come yet */
uint32_t
pyusdt_merged_target(const struct pyusdt_merged *merged,
                     uint32_t named); /* which one has that number in words; else UINT32_MAX */
uint64_t pyusdt_merged_last(const struct pyusdt_merged *merged,
                            uint32_t source); /* time of its event that came last */

extern const struct pyusdt_event_source_ops
    pyusdt_merged_source_ops; /* over a struct pyusdt_merged */

#pragma GCC visibility pop

#endif
