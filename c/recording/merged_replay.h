/*
 * Recordings of many hosts, each of which comes in portions, as one feed.
 *
 * In:  portions of recordings (recording.h), of strangers; by how much each one's clock differs from ours. Out: their events, by our
 *      clock, of the recording that was chosen last; targets have numbers of their own here.
 * Always: the times of one recording's events do not go back; a recording that is damaged is no other's trouble, and no host takes
 *         another's room for names of frames.
 */
#ifndef PYUSDT_RECORDING_MERGED_REPLAY_H
#define PYUSDT_RECORDING_MERGED_REPLAY_H

#include "recording/recording_reader.h"

#pragma GCC visibility push(hidden)

struct pyusdt_many;

/* share: how many processes of one host have names for their frames; those beyond it have none. */
int pyusdt_many_new(uint32_t share, struct pyusdt_many **out);
void pyusdt_many_free(struct pyusdt_many *many);
/* One more, of host 1, 2, …; its number, or -ENOMEM. */
int pyusdt_many_add(struct pyusdt_many *many, uint32_t host);
/* Its next portion, and what is to be added to its times, ns, from now on. */
int pyusdt_many_put(struct pyusdt_many *many, uint32_t source, const void *data, size_t size,
                    int64_t shift);
size_t pyusdt_many_waits(const struct pyusdt_many *many,
                         uint32_t source); /* bytes that were not read yet */
uint64_t pyusdt_many_kept(const struct pyusdt_many *many,
                          uint32_t source); /* bytes of memory, about, that stay */
void pyusdt_many_finish(struct pyusdt_many *many, uint32_t source); /* no portion comes any more */
bool pyusdt_many_next(struct pyusdt_many *many, uint32_t source, uint64_t *time); /* by our clock */
const char *pyusdt_many_damage(const struct pyusdt_many *many, uint32_t source);
void pyusdt_many_choose(struct pyusdt_many *many, uint32_t source);
uint32_t pyusdt_many_home(const struct pyusdt_many *many,
                          uint32_t source); /* its $target, 0: none, or it has not come yet */
uint32_t
pyusdt_many_target(const struct pyusdt_many *many,
                   uint32_t named); /* which one has that number in words; else UINT32_MAX */
uint64_t pyusdt_many_last(const struct pyusdt_many *many,
                          uint32_t source); /* time of its event that came last */

extern const struct pyusdt_feed_kind pyusdt_many_feed; /* over a struct pyusdt_many */

#pragma GCC visibility pop

#endif
