/*
 * The layout of the shared files: control file, session file, area file, ring, event.
 * docs/internals/ring.md explains them.
 *
 * - Every field has one writer, which is named here (T: the target, S: the tracer's session).
 *   Fields marked "both" are changed only by atomic read-modify-write.
 * - The magic of a file is stored last. Before that, the file counts as missing.
 */
#ifndef PYUSDT_LAYOUT_H
#define PYUSDT_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pyusdt.h"
#include "shared/limits.h"
#include "shared/probe_info.h"

#define PYUSDT_CTL_MAGIC 0x316c746375737970ull     /* "pysuctl1", read as bytes */
#define PYUSDT_SESSION_MAGIC 0x3165737375737970ull /* "pysusse1" */
#define PYUSDT_AREA_MAGIC 0x3161726175737970ull    /* "pysuara1" */
#define PYUSDT_FLIGHT_MAGIC 0x31746c6673757970ull  /* "pyusflt1" */
#ifndef PYUSDT_LAYOUT_VERSION                      /* tests make another build */
#define PYUSDT_LAYOUT_VERSION 12
#endif
#define PYUSDT_BUILD_SIZE 64 /* bytes of the text that says which build of pyusdt it is */

/* The parts of a control file that pyusdt makes: as long as they can become. What is not used is
 * a hole in the file. */
#define PYUSDT_STRINGS_MAX (1u << 20)
#define PYUSDT_CTL_SLOTS (((uint32_t)sizeof(struct pyusdt_ctl_header) + 63) & ~63u)
#define PYUSDT_CTL_WORDS \
    (PYUSDT_CTL_SLOTS + PYUSDT_MAX_SESSIONS * (uint32_t)sizeof(struct pyusdt_ctl_slot))
#define PYUSDT_CTL_DESCS (PYUSDT_CTL_WORDS + PYUSDT_MAX_PROBES * (uint32_t)sizeof(uint64_t))
#define PYUSDT_CTL_STRINGS \
    (PYUSDT_CTL_DESCS + PYUSDT_MAX_PROBES * (uint32_t)sizeof(struct pyusdt_ctl_desc))
#define PYUSDT_CTL_PLACES (PYUSDT_CTL_STRINGS + PYUSDT_STRINGS_MAX)
#define PYUSDT_CTL_SIZE (PYUSDT_CTL_PLACES + (uint32_t)sizeof(struct pyusdt_ctl_places))

/* ---- the control file, <pid>-<starttime>-<instance>.ctl: made by T ---- */

enum { PYUSDT_CTL_LIVE = 1, PYUSDT_CTL_EXITED = 2 };

struct pyusdt_ctl_header { /* T */
    _Atomic uint64_t magic;
    uint32_t version;
    uint32_t size; /* of the file */
    uint32_t pid;  /* in the target's own pid namespace */
    uint32_t instance;
    uint64_t starttime; /* /proc/PID/stat, field 22: with the pid it names a process for good */
    uint64_t pidns;     /* inode of /proc/PID/ns/pid: whether pid is valid for the reader */
    _Atomic uint32_t state;
    _Atomic uint32_t nprobes;
    uint32_t ndescs;
    uint32_t slots; /* offset of struct pyusdt_ctl_slot[PYUSDT_MAX_SESSIONS] */
    /* offset of the enable words, uint64_t[nprobes]: both, bit s belongs to slot s */
    uint32_t words;
    uint32_t descs; /* offset of struct pyusdt_ctl_desc[ndescs] */
    /* offset of NUL-terminated strings; the first byte is a NUL, the last one too */
    uint32_t strings;
    uint32_t strings_size;
    uint32_t gid;
    char comm[16];
    _Atomic uint32_t changes; /* of the probe table, which only grows: odd while it does */
    /* both: changes after the demand has changed; T's watcher waits on it (a futex) */
    _Atomic uint32_t wakeup;
    uint32_t places;          /* offset of struct pyusdt_ctl_places; 0: there are none */
    _Atomic uint32_t nplaces; /* how many of them are whole: stored last */
    /* of pyusdt. Magic, version and, from layout 9 on, this have their places in every layout */
    char build[PYUSDT_BUILD_SIZE];
    /* its parent, that one's, and so on, as T's pid namespace knows them; zeros behind them */
    uint32_t ancestors[PYUSDT_CTL_ANCESTORS];
    /* remarks about the process's probes: each the number of a place that is a remark; 0: none */
    _Atomic uint32_t remarks[PYUSDT_REMARKS];
    /* children by fork(), each of which counts its firings in `failed` until it has published
     * itself */
    _Atomic uint32_t forked;
};

_Static_assert(offsetof(struct pyusdt_ctl_header, version) == 8 &&
                   offsetof(struct pyusdt_ctl_header, build) == 108,
               "builds of other layouts look there");

/* A remark is stored as a code location: module is the provider, function the names of probes
 * separated by blanks, file the text for a person, and line the enum pyusdt_remark. It has no
 * events. */
#define PYUSDT_REMARK_LINE(kind) (UINT32_MAX - (uint32_t)(kind))
#define PYUSDT_IS_REMARK(line) ((line) >= PYUSDT_REMARK_LINE(PYUSDT_REMARK_ABSENT))

struct pyusdt_ctl_place { /* T; module, function, file: offsets into strings */
    uint32_t module;
    uint32_t function;
    uint32_t file;
    uint32_t line;
};

static inline bool pyusdt_is_ancestor(const uint32_t ancestors[PYUSDT_CTL_ANCESTORS], uint32_t pid)
{
    for (unsigned i = 0; i < PYUSDT_CTL_ANCESTORS && ancestors[i] != 0; i++)
        if (ancestors[i] == pid)
            return true;
    return false;
}

/* The code locations of the probes of `places`: place n is place[n - 1], and never changes. */
struct pyusdt_ctl_places { /* T */
    struct pyusdt_ctl_place place[PYUSDT_MAX_PLACES];
    char strings[PYUSDT_PLACE_STRINGS]; /* NUL-terminated, each once; the first is the empty one */
};

struct pyusdt_ctl_desc { /* T; string fields are offsets into strings */
    uint32_t provider;
    uint32_t module;
    uint32_t function;
    uint32_t name;
    uint32_t count; /* at least 1 */
    uint32_t strings;
    uint32_t nargs;
    uint32_t kind;      /* PYUSDT_DESC_… */
    uint32_t signature; /* as in struct pyusdt_probe_desc; "": unknown */
};

enum {
    PYUSDT_DESC_PLAIN = 0,
    PYUSDT_DESC_FAMILY = 1, /* numbers are appended to function and name */
    PYUSDT_DESC_PLACES = 2, /* module and function are those of the place where it fires */
};

enum { PYUSDT_SLOT_NONE, PYUSDT_SLOT_READY, PYUSDT_SLOT_FAILED };

/* In the place of an errno: which limit leaves the program no more than it may need itself
 * (target/head_room.c). */
enum { PYUSDT_KEEPS_FILE_SPACE = 4001, PYUSDT_KEEPS_MEMORY = 4002, PYUSDT_KEEPS_ADDRESSES = 4003 };

/* The tag makes the count start anew with each session, without a reset. */
#define PYUSDT_FAILED_BITS 40
#define PYUSDT_FAILED_TAG(generation) ((generation) >> PYUSDT_FAILED_BITS << PYUSDT_FAILED_BITS)
#define PYUSDT_FAILED_COUNT(failed) ((failed) & ((1ull << PYUSDT_FAILED_BITS) - 1))

struct pyusdt_ctl_slot {
    _Atomic uint64_t wanted; /* both: generation of the session that is to be served here, 0 none */
    _Atomic uint64_t ready; /* T: generation whose area exists, which the other T fields describe */
    _Atomic uint32_t state; /* T: of the last attempt to serve `wanted` */
    _Atomic int32_t error;  /* T: -errno of that attempt */
    /* T: events lost because there is no area: PYUSDT_FAILED_TAG of `wanted`, and the count */
    _Atomic uint64_t failed;
    /* S: the process's id, if its tracer knows it by another than its own; else 0 */
    _Atomic uint32_t pid;
    /* both: 1: the session wants events of the process's forked children, too */
    _Atomic uint32_t children;
    /* a forked child: -errno: why it could not publish itself; 0: all could */
    _Atomic int32_t child_error;
    uint32_t unused;
    uint64_t unused2[2];
};

/* ---- the session file, NN.session: made by S, read by T with pread only, locked by S ---- */

enum { PYUSDT_SESSION_MAKING = 0, PYUSDT_SESSION_STARTED = 1 };

enum {
    PYUSDT_SESSION_ALL = 1, /* every process may join, else those of pids */
    /* its tracer makes the barriers for single threads (docs/internals/ring.md, "Rings") */
    PYUSDT_SESSION_BARRIER = 2,
    /* with those of pids their descendants, by struct pyusdt_ctl_header's ancestors */
    PYUSDT_SESSION_CHILDREN = 4,
};

struct pyusdt_session_header { /* S */
    uint64_t magic;
    uint32_t version;
    uint32_t state;
    uint64_t generation; /* random, never 0: distinguishes this session from all others */
    uint32_t tracer;     /* pid, for people */
    uint32_t slot;
    uint64_t bufsize;
    uint32_t max_rings;
    uint32_t nwants;
    uint32_t want_size; /* sizeof (struct pyusdt_want) */
    uint32_t flags;     /* PYUSDT_SESSION_… */
    uint32_t pids[PYUSDT_PIDS_MAX];
    char comm[16];               /* only processes of this name join; empty: any */
    char name[PYUSDT_KEEP_NAME]; /* by which its tracer finds a kept session again */
    uint64_t keep_ns;            /* how long it continues without its tracer; 0: it ends with it */
    uint64_t keep_bytes;         /* of rings that all processes together may have, if not 0 */
    uint64_t seen;               /* when its tracer was last there */
    uint32_t npaths;             /* at most PYUSDT_PATHS_MAX */
    uint32_t unused;
    /* struct pyusdt_want[nwants] follows, and struct pyusdt_path[npaths] */
};

_Static_assert(PYUSDT_PATHS_MAX <= PYUSDT_MAX_ARGS - PYUSDT_PATH_ARG,
               "the value of a path is an argument");

/* ---- the area file, <ctl>.NN.<generation>.area: made by T, one per process and session ---- */

struct pyusdt_line {                    /* one ring's shared words; two cache lines */
    _Alignas(64) _Atomic uint32_t busy; /* T: tid of the thread that is inside, 0 none */
    uint32_t unused;
    _Atomic uint64_t head;              /* T: bytes published, ever */
    _Alignas(64) _Atomic uint64_t tail; /* S: bytes consumed, ever */
    /* S, of a kept session: events that may have been shown, not below tail */
    _Atomic uint64_t read;
};

struct pyusdt_area {
    struct pyusdt_line line[PYUSDT_RINGS_MAX];
    _Atomic uint64_t magic; /* T, like all that follows */
    uint32_t version;
    uint32_t nprobes; /* room in drops: PYUSDT_MAX_PROBES */
    uint64_t generation;
    uint64_t ring_size;         /* of each, a power of two */
    _Atomic uint32_t rings;     /* how many ring files there are, 0 … PYUSDT_RINGS_MAX */
    _Atomic int32_t error;      /* -errno, if another ring, or pages of one, could not be made; 0 */
    _Atomic uint32_t counted;   /* how many of the rows of struct pyusdt_counts are used: */
    _Atomic uint32_t countable; /* their words of places 1 to this have pages */
    uint16_t counted_probe[PYUSDT_COUNT_ROWS]; /* the probe of each row */
    uint32_t unused[12];
    _Atomic uint64_t drops[PYUSDT_MAX_PROBES]; /* events that found no room, or no free ring */
};

/* Behind the area, in its file: how often probes have fired at places; as many rows as the
 * file's length has, some or none. What is not used is a hole. */
/* T, and S when it collects: PYUSDT_COUNT_TAG of the session, and the number; 0: it is not
 * counted */
struct pyusdt_counts {
    _Atomic uint64_t at[PYUSDT_COUNT_ROWS][PYUSDT_MAX_PLACES]; /* of place n: n - 1 */
};

/* Without the tag, a late thread would count for the next session in the slot. */
#define PYUSDT_COUNT_BITS 48
#define PYUSDT_COUNT_TAG(word) ((word) >> PYUSDT_COUNT_BITS << PYUSDT_COUNT_BITS)
#define PYUSDT_COUNT(word) ((word) & ((1ull << PYUSDT_COUNT_BITS) - 1))

#define PYUSDT_AREA_COUNTS ((sizeof(struct pyusdt_area) + 4095ull) & ~4095ull)
#define PYUSDT_AREA_ROW (PYUSDT_MAX_PLACES * sizeof(uint64_t))
#define PYUSDT_AREA_SIZE(rows) (PYUSDT_AREA_COUNTS + (rows) * PYUSDT_AREA_ROW)

/* ---- the flight recorder's file, <pid>-<starttime>-<instance>.flight: made and used by T ----
 *
 * It is a control file up to PYUSDT_CTL_SIZE, with another magic, and with struct pyusdt_flight_info
 * instead of the slots; then an area, whose tails are T's (everything below is overwritten); then the
 * rings, of ring_size each.
 */
struct pyusdt_flight_info { /* T */
    uint64_t begun;         /* ns of the clock of the events */
    uint64_t wall;          /* the difference to the time since 1970, ns */
    uint32_t order;         /* PYUSDT_FLIGHT_ORDER, as its maker's machine writes it */
    uint32_t uid;
    char host[64];
};

#define PYUSDT_FLIGHT_ORDER 0x01020304u
#define PYUSDT_FLIGHT_AREA ((PYUSDT_CTL_SIZE + 4095ull) & ~4095ull)
#define PYUSDT_FLIGHT_RINGS ((PYUSDT_FLIGHT_AREA + sizeof(struct pyusdt_area) + 4095ull) & ~4095ull)

/* ---- the ring file, <ctl>.NN.<generation>.ring<k> ----
 *
 * ring_size bytes of events, each 8-aligned, wrapping anywhere.
 * Its pages are allocated when they are needed, from the first on; the others are a hole, in which
 * nothing was written.
 */

struct pyusdt_ring_event {
    uint32_t size; /* of the whole event, a multiple of 8 */
    /* PYUSDT_EVENT_PROBE of it, and PYUSDT_EVENT_PLACE: its code location, 0: the probe has no
     * places */
    uint32_t probe;
    uint64_t time;
    uint32_t tid;
    uint16_t cpu;
    uint16_t args; /* which it has, PYUSDT_EVENT_ARGS, and PYUSDT_EVENT_CAPTURES of how many */
    /* uint64_t for each of the arguments that it has, in their order; then per capture,
     * 4-aligned: struct pyusdt_ring_capture, its bytes, a NUL, 0 … 3 zeros. The last may be the
     * stack: index PYUSDT_CAPTURE_STACK, its bytes are the frames (pyusdt_frame,
     * pyusdt_code_frame), perhaps PYUSDT_FRAME_MORE behind them */
};

#define PYUSDT_EVENT_ARGS(word) ((word) & ((1u << PYUSDT_MAX_ARGS) - 1)) /* bit i: argument i */
#define PYUSDT_EVENT_CAPTURES(word) ((uint32_t)(word) >> PYUSDT_MAX_ARGS)
#define PYUSDT_EVENT_HAS(args, captures) ((uint16_t)((args) | (captures) << PYUSDT_MAX_ARGS))

/* The number of these arguments: copies of the word beside each other have each of its bits in
 * another nibble, and a product adds these up in the highest. (A popcount is a call unless the
 * compiler may assume the instruction.) */
static inline uint32_t pyusdt_args_count(uint32_t args)
{
    return (uint32_t)((args * 0x200040008001u & 0x111111111111111u) * 0x1111111111111111u >> 60);
}

#define PYUSDT_EVENT_PROBE_BITS 12
#define PYUSDT_EVENT_PROBE(word) ((word) & ((1u << PYUSDT_EVENT_PROBE_BITS) - 1))
#define PYUSDT_EVENT_PLACE(word) ((word) >> PYUSDT_EVENT_PROBE_BITS)
#define PYUSDT_EVENT_WORD(probe, place) ((probe) | (place) << PYUSDT_EVENT_PROBE_BITS)

/* Stands in the place of an event's probe: the rest of the ring has no pages (yet). `size` leads to
 * the ring's beginning, the other fields are unused. It is no event: nothing is delivered, and it
 * has no time. */
#define PYUSDT_RING_SKIP UINT32_MAX

struct pyusdt_ring_capture {
    uint16_t index;
    uint16_t length;
};

#define PYUSDT_CAPTURE_STACK PYUSDT_MAX_ARGS
#define PYUSDT_STACK_MAX (8u * (PYUSDT_MAX_FRAMES + 1)) /* bytes */

#define PYUSDT_EVENT_MAX \
    (sizeof(struct pyusdt_ring_event) + \
     PYUSDT_MAX_ARGS * (8 + sizeof(struct pyusdt_ring_capture) + PYUSDT_MAX_STRING + 1) + \
     sizeof(struct pyusdt_ring_capture) + PYUSDT_STACK_MAX + 4)
#define PYUSDT_RING_MIN 65536ull
#define PYUSDT_RING_MAX (1ull << 30)
#define PYUSDT_RING_DEFAULT (1ull << 20)
#define PYUSDT_SPILL_MAX \
    (64ull << 20) /* bytes of rings up to which one more is made because all are full */
#define PYUSDT_RING_START 16384ull          /* bytes of a ring's pages at first, */
#define PYUSDT_RING_STEP_MAX (256ull << 10) /* and the largest step */

_Static_assert(sizeof(struct pyusdt_line) == 128, "two cache lines a ring");
_Static_assert(sizeof(struct pyusdt_ctl_slot) == 64, "one cache line a slot");
_Static_assert(sizeof(struct pyusdt_ring_event) == 24, "events start with 24 bytes");
_Static_assert(offsetof(struct pyusdt_area, drops) == PYUSDT_RINGS_MAX * 128 + 128,
               "the drops follow whole lines");
_Static_assert(PYUSDT_MAX_ARGS == 12, "which there are, and how many captures, are one word");
_Static_assert(PYUSDT_MAX_PROBES <= 1u << PYUSDT_EVENT_PROBE_BITS, "a probe fits beside a place");
_Static_assert(PYUSDT_MAX_PLACES < 1u << (32 - PYUSDT_EVENT_PROBE_BITS),
               "and a place, which is not PYUSDT_RING_SKIP's");
_Static_assert(PYUSDT_EVENT_MAX * 2 <= PYUSDT_RING_MIN,
               "a ring holds at least two of the largest events");
_Static_assert(PYUSDT_EVENT_MAX + sizeof(struct pyusdt_ring_event) <= PYUSDT_RING_START,
               "and one from the first moment on");

#endif
