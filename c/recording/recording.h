/*
 * Recordings: the events of a session in a file, and back. docs/internals/recording-format.md is the format.
 *
 * The recorder writes what a session delivers. The replay reads a file that a stranger may have made: every size, number
 * and string is checked, nothing is believed that was not; a file that ends in the middle is read up to there.
 */
#ifndef PYUSDT_RECORDING_RECORDING_H
#define PYUSDT_RECORDING_RECORDING_H

#include <stdbool.h>

#include "events/event_source.h"
#include "shared/layout.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_RECORD_MAGIC 0x3152746473757970ull /* "pyusdtR1", read as bytes */
#define PYUSDT_RECORD_VERSION 4
#define PYUSDT_RECORD_OLDEST 3          /* that is read */
#define PYUSDT_RECORD_ORDER 0x01020304u /* what it reads as tells the byte order of the writer */

struct pyusdt_record_header {
    uint64_t magic;
    uint32_t version;
    uint32_t order;
    uint64_t begun;  /* when tracing began: ns of the clock of the events */
    uint64_t wall;   /* realtime minus that clock, ns */
    uint32_t target; /* $target, 0: none */
    uint32_t pid;    /* the tracer's, and its user's ids */
    uint32_t uid;
    uint32_t gid;
    char host[64];
    uint8_t unused[16];
};

enum {
    PYUSDT_BLOCK_TABLE = 1,
    PYUSDT_BLOCK_TARGET,
    PYUSDT_BLOCK_EVENT,
    PYUSDT_BLOCK_LOSS,
    PYUSDT_BLOCK_END,
    PYUSDT_BLOCK_PLACE
};

struct pyusdt_block {
    uint32_t kind;
    uint32_t size; /* of what follows, a multiple of 8 */
};

struct pyusdt_table_block { /* the descriptions (struct pyusdt_ctl_desc) and the strings follow */
    uint32_t number;        /* 0, 1, … */
    uint32_t nprobes;
    uint32_t ndescs;
    uint32_t strings_size;
};

struct pyusdt_target_block { /* a target that is new, or has another table now */
    uint32_t target;         /* 0, 1, … */
    uint32_t table;
    uint32_t pid;
    uint32_t inner; /* its pid in its own namespace, for people: its providers have the other */
    uint32_t uid;
    uint32_t gid;
    char comm[16];
    uint32_t ancestors[PYUSDT_CTL_ANCESTORS]; /* not in version 3 */
};

struct pyusdt_place_block { /* a place in a target's code; the three names follow, without NULs */
    uint32_t target;
    uint32_t number; /* 1, 2, … of this target */
    uint32_t line;
    uint16_t module, function, file; /* bytes of the names */
    uint16_t unused;
};

struct pyusdt_event_block { /* struct pyusdt_ring_event, arguments and strings follow */
    uint32_t target;
    uint32_t unused;
};

struct pyusdt_loss_block { /* so far */
    uint64_t dropped;
    uint64_t out_of_order;
};

_Static_assert(sizeof(struct pyusdt_record_header) == 128, "the header is two cache lines");

/* ---- writing ---- */

struct pyusdt_recorder;

/* Takes the file over; completes the header (magic, version, order). -EIO and the like from any write come back from
 * pyusdt_recorder_flush(). */
int pyusdt_recorder_new(int fd, struct pyusdt_session *session,
                        const struct pyusdt_record_header *header, struct pyusdt_recorder **out);
void pyusdt_recorder_event(struct pyusdt_recorder *recorder, const struct pyusdt_event *event);
/* What was lost so far, and all that waits, into the file. */
int pyusdt_recorder_flush(struct pyusdt_recorder *recorder);
/* Flushes, says when it ended, closes. */
int pyusdt_recorder_close(struct pyusdt_recorder *recorder, uint64_t time);

/* ---- reading ---- */

struct pyusdt_replay;

/* Takes the file over. Reads it once to the end, to know the targets; -EPROTONOSUPPORT another version or byte order,
 * -EBADMSG no recording. */
int pyusdt_replay_open(int fd, struct pyusdt_replay **out, struct pyusdt_error *error);
/* One that comes in portions, as it is made: what has not come yet is no end. */
int pyusdt_replay_stream(struct pyusdt_replay **out);
int pyusdt_replay_put(struct pyusdt_replay *replay, const void *data,
                      size_t size);                             /* the next portion; 0, -ENOMEM */
size_t pyusdt_replay_waits(const struct pyusdt_replay *replay); /* bytes that were not read yet */
uint64_t pyusdt_replay_kept(
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
bool pyusdt_replay_over(const struct pyusdt_replay *replay); /* all has been delivered */
void pyusdt_replay_loss(const struct pyusdt_replay *replay, struct pyusdt_loss_block *loss);
/* Names of all probes of all targets, in order; stops when fn returns nonzero. */
int pyusdt_replay_list(const struct pyusdt_replay *replay, pyusdt_list_fn *fn, void *arg);

extern const struct pyusdt_feed_kind pyusdt_replay_feed; /* over a struct pyusdt_replay */

#pragma GCC visibility pop

#endif
