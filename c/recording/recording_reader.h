/*
 * Reading a recording, as a source of events.
 *
 * - The file is untrusted: every size, number and string is checked.
 * - A file that ends in the middle is read up to there.
 */
#ifndef PYUSDT_RECORDING_RECORDING_READER_H
#define PYUSDT_RECORDING_RECORDING_READER_H

#include <stddef.h>

#include "events/event_source.h"
#include "recording/recording.h"

#pragma GCC visibility push(hidden)

struct pyusdt_replay;

/* Takes the file over. Reads it once to the end, to know the targets; -EPROTONOSUPPORT another version or byte order,
 * -EBADMSG no recording. */
int pyusdt_replay_open(int fd, struct pyusdt_replay **out, struct pyusdt_error *error);
/* One that comes in portions, as it is made: what has not come yet is no end. */
int pyusdt_replay_stream(struct pyusdt_replay **out);
int pyusdt_replay_put(struct pyusdt_replay *replay, const void *data,
                      size_t size);                              /* the next portion; 0, -ENOMEM */
size_t pyusdt_replay_unread(const struct pyusdt_replay *replay); /* bytes that were not read yet */
uint64_t pyusdt_replay_memory(
    const struct pyusdt_replay *replay); /* bytes of memory, about, that stay until it is closed */
void pyusdt_replay_finish(
    struct pyusdt_replay *replay); /* no portion comes any more, and what was not read is dropped */
void pyusdt_replay_close(struct pyusdt_replay *replay);
const struct pyusdt_record_header *pyusdt_replay_header(const struct pyusdt_replay *replay);
uint64_t pyusdt_replay_end(const struct pyusdt_replay *replay); /* when tracing ended */
const char *pyusdt_replay_damage(
    const struct pyusdt_replay *replay); /* why it is not read further; NULL: it is whole */
bool pyusdt_replay_next(struct pyusdt_replay *replay,
                        uint64_t *time); /* that of the next event, if there is one */
bool pyusdt_replay_is_over(const struct pyusdt_replay *replay); /* all has been delivered */
void pyusdt_replay_drops(const struct pyusdt_replay *replay, struct pyusdt_drops_block *loss);
/* Names of all probes of all targets, in order; stops when fn returns nonzero. */
int pyusdt_replay_list(const struct pyusdt_replay *replay, pyusdt_list_fn *fn, void *arg);

extern const struct pyusdt_event_source_ops
    pyusdt_replay_source_ops; /* over a struct pyusdt_replay */

#pragma GCC visibility pop

#endif
