/* Writing what a session delivers into a recording. */
#ifndef PYUSDT_RECORDING_RECORDING_WRITER_H
#define PYUSDT_RECORDING_RECORDING_WRITER_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

struct pyusdt_event;
struct pyusdt_record_header;
struct pyusdt_session;
struct pyusdt_recorder;

/* Takes the file over; completes the header (magic, version, order). paths: of the values in the events. -EIO and the like from any write come back from
 * pyusdt_recorder_flush(). */
int pyusdt_recorder_new(int fd, struct pyusdt_session *session,
                        const struct pyusdt_record_header *header, const void *paths,
                        uint32_t paths_size, struct pyusdt_recorder **out);
void pyusdt_recorder_event(struct pyusdt_recorder *recorder, const struct pyusdt_event *event);
/* What was lost so far, and all that waits, into the file. */
int pyusdt_recorder_flush(struct pyusdt_recorder *recorder);
/* Flushes, says when it ended, closes. */
int pyusdt_recorder_close(struct pyusdt_recorder *recorder, uint64_t time);

#pragma GCC visibility pop

#endif
