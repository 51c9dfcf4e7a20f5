/*
 * The format of recordings: the events of a session in a file. docs/internals/recording-format.md describes it.
 */
#ifndef PYUSDT_RECORDING_RECORDING_H
#define PYUSDT_RECORDING_RECORDING_H

#include <stdint.h>

#include "shared/layout.h"

#define PYUSDT_RECORD_MAGIC 0x3152746473757970ull /* "pyusdtR1", read as bytes */
#define PYUSDT_RECORD_VERSION 5
#define PYUSDT_RECORD_OLDEST 3          /* that is read */
#define PYUSDT_RECORD_ORDER 0x01020304u /* shows the byte order of the writer */

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
    PYUSDT_BLOCK_DROPS,
    PYUSDT_BLOCK_END,
    PYUSDT_BLOCK_PLACE,
    PYUSDT_BLOCK_PATHS /* of the values in the events: the first block, or none; not before version 5 */
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

struct pyusdt_paths_block { /* the bytes of each path follow, in the language's own form */
    uint32_t size;          /* of them all */
    uint32_t unused;
};

struct pyusdt_drops_block { /* so far */
    uint64_t dropped;
    uint64_t out_of_order;
};

_Static_assert(sizeof(struct pyusdt_record_header) == 128, "the header is two cache lines");

#endif
