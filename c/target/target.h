/*
 * The private state that the files of c/target share: publish.c, session_join.c, area.c and ring.c.
 *
 * - Each linked object has one core. Nothing here is ever read back from shared memory.
 * - The hot path takes rings, never the lock. The lock is for the slow paths. A thread that does
 *   not get it soon counts its event as a drop and goes on.
 * - The addresses of slots, area mappings and demand tables stay valid for the life of the process.
 *   A thread that comes late still finds memory, and then sees that it is late.
 * - Only the thread that holds a ring touches its bytes, so a ring that no thread can hold any more
 *   is unmapped.
 */
#ifndef PYUSDT_TARGET_H
#define PYUSDT_TARGET_H

#include <pthread.h>
#include <stdbool.h>

#include "shared/test_hook.h"
#include "shared/layout.h"
#include "shared/rundir.h"
#include "shared/session_slot.h"
#include "shared/probe_table.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_CHECK_NS \
    200000000ull              /* how often a producer checks whether the tracer still lives */
#define PYUSDT_LOCK_TRIES 200 /* of 100 us: the longest that a slow path waits for another */
#define PYUSDT_CONTENDED_NS 100000000ull /* for so long after that no firing waits */

#define PYUSDT_SPARE_STACKS 8u   /* of 64 KiB; one is for the thread with the lock */
#define PYUSDT_FRAME_BUFFERS 64u /* threads that take stacks at the same instant */

#define PYUSDT_RING_CLOSED \
    UINT32_MAX /* in the place of a holder's tid: the ring will not be given back */

#define PYUSDT_LIKELY(x) __builtin_expect(!!(x), 1)
#define PYUSDT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The demand of one session for one probe. Written while all of the slot's rings are held. */
struct pyusdt_demand {
    _Atomic uint32_t mask; /* as pyusdt_demand() returns it; 0: the probe is not wanted */
    uint32_t max_size;     /* bytes of its longest event */
    uint8_t nargs;         /* how many arguments are wanted */
    uint8_t ncaptures;     /* wanted strings: */
    _Atomic uint8_t row;   /* of struct pyusdt_counts, and 1; 0: it has none */
    uint8_t index[PYUSDT_MAX_ARGS];
    uint16_t bytes[PYUSDT_MAX_ARGS]; /* by argument */
    uint32_t frames;                 /* of the stack, if mask has PYUSDT_DEMAND_STACK */
    bool natives;                    /* as many native ones, too */
};

/* A ring as its holder knows it: the shared words are copies for the tracer. */
struct pyusdt_ring {
    _Alignas(64) uint8_t *data; /* twice in a row; NULL: the session is over */
    uint64_t head;
    uint64_t end;  /* the limit of the head without reading the tail again, or without new pages */
    uint64_t tail; /* as last seen, always within [head - size, head] */
    uint64_t usable;   /* the number of its first bytes that have pages */
    uint64_t retry_at; /* when to try again to have more */
    uint64_t reserved;
};

/* The patterns of a session's probe descriptions for the places of a probe. */
struct pyusdt_pattern {
    uint32_t probe;
    bool counts;   /* how often it fires is all that is wanted */
    uint32_t args; /* bits of the arguments that are wanted */
    char module[PYUSDT_GLOB_SIZE];
    char function[PYUSDT_GLOB_SIZE];
};

struct pyusdt_patterns {
    struct pyusdt_pattern *pattern; /* memory of its own, which stays for the slot's next session */
    uint32_t n, room;
    bool all; /* there are more than can be stored: every location is wanted */
};

/* The decision at a place for a session that counts. */
enum { PYUSDT_COUNT_MODE_UNKNOWN, PYUSDT_COUNT_MODE_EVENTS, PYUSDT_COUNT_MODE_COUNTS };

/* The rows of struct pyusdt_counts in a session's area, and the decisions for their places. Rows
 * and places without addresses or pages are sent as events. */
struct pyusdt_counting {
    /* [PYUSDT_COUNT_ROWS][PYUSDT_MAX_PLACES], PYUSDT_HOW_…; stays for the slot's next session */
    _Atomic uint8_t *mode;
    uint16_t probe[PYUSDT_COUNT_ROWS];
    uint32_t rows, mapped; /* how many there are, and how many the area has addresses for */
    uint32_t paged, room;  /* rows and locations whose words have pages */
    bool wants_counts;     /* the session wants counts */
};

/* A session slot. Order of reading: generation, then rings. A thread that holds a ring and sees the
 * generation may use everything else. */
struct pyusdt_slot {
    _Alignas(64) struct pyusdt_area *_Atomic area;
    _Atomic uint64_t generation; /* of the session that is served; 0 none */
    _Atomic uint64_t next_check;
    _Atomic uint64_t full_until;          /* no ring had room: when to try other rings again */
    struct pyusdt_demand *_Atomic demand; /* [nprobes] */
    uint64_t size;                        /* of each ring */
    _Atomic uint32_t nrings;
    _Atomic uint32_t max_rings;
    bool barrier; /* the tracer makes the barrier for a single thread */
    /* bytes of rings that all processes of the session may have together; 0: any number */
    uint64_t room;
    struct pyusdt_patterns patterns; /* of its demand for probes with places; under the lock */
    struct pyusdt_counting counting; /* under the lock, except `mode` */
    /* bytes of the area's mapping, which stay for the slot's next session */
    uint64_t area_reserved;
    uint64_t opened; /* generation that area and ring files belong to, until they are removed */
    _Atomic uint64_t refused;  /* generation that could not be served, */
    _Atomic uint64_t retry_at; /* and when to try it again */
    struct pyusdt_ring ring[PYUSDT_RINGS_MAX];
};

/* Zeroed by fork, by whatever name it is called (WIPEONFORK), so that a child knows itself. */
struct pyusdt_family {
    _Atomic uint32_t alive;
    _Atomic uint32_t lock;         /* tid of the holder */
    _Atomic uint64_t republish_at; /* when a forked child may try again to publish itself */
    /* 1: a thread stands on it (spare_stack.c) */
    _Atomic uint32_t spare_in_use[PYUSDT_SPARE_STACKS];
    /* memory for stacks' frames: 1: a thread has it (ring.c) */
    _Atomic uint32_t frames_in_use[PYUSDT_FRAME_BUFFERS];
    _Atomic uint64_t granted; /* bytes of buffers that need no check of the limits (head_room.c) */
};

struct pyusdt_core {
    struct pyusdt_family *family; /* NULL: never published */
    struct pyusdt_ctl_header *ctl;
    struct pyusdt_ctl_slot *slots;
    _Atomic uint64_t *words;
    _Atomic uint32_t nprobes; /* 0: not published */
    pthread_key_t key;
    bool has_key, has_native_key;
    pthread_key_t native_key; /* frame_pointers.c */
    uint32_t epoch; /* forks since the first ancestor: a thread's remembered tid is of one epoch */
    struct pyusdt_probe_table table; /* a private copy */
    struct pyusdt_identity identity;
    char rundir[PYUSDT_PATH_SIZE];
    uint32_t uid;                     /* whose run directory it is */
    _Atomic uint64_t check_user_at;   /* when to check next whether another directory would do */
    struct pyusdt_ctl_header *flight; /* the flight recorder's file; NULL: none */
    /* -errno: why this forked child is not published: control file and words are its parent's */
    int child_error;
    int publish_error; /* -errno: why the process is not published; 0: it is, or was not tried */
    int flight_error;  /* -errno: it is wanted, and why it is not there */
    _Atomic uint64_t contended_until; /* no firing waits for the lock before */
    int cancel; /* whether the lock's holder may be cancelled when it has given it back */
    struct pyusdt_slot slot[PYUSDT_MAX_SESSIONS + 1]; /* the last is the flight recorder's */
};

#define PYUSDT_FLIGHT_SLOT PYUSDT_MAX_SESSIONS

extern struct pyusdt_core pyusdt_core;

/* publish.c */
void pyusdt_ctl_fill(struct pyusdt_ctl_header *ctl); /* all but the magic */
bool pyusdt_core_lock(bool firing);                  /* firing: it must continue soon */
void pyusdt_core_unlock(void);
void pyusdt_core_publish_child(void); /* a forked child publishes itself */
uint32_t pyusdt_child_demand(
    unsigned probe,
    uint64_t sessions); /* of a child that could not: whether its firings have to be counted, */
void pyusdt_child_count_drop(unsigned probe, uint64_t sessions); /* and that it fired */
bool pyusdt_core_republish_as_user(
    void); /* so does a process that has become another user; false: nothing has changed */

/* text_truncate.c */
uint32_t
pyusdt_text_truncated_length(const char *text, size_t size,
                             uint32_t max_size); /* as pyusdt_text_length(), to as many bytes */

/* code_places.c */
void pyusdt_places_changed(void); /* the demand at places may be different */
void pyusdt_copy_truncated(char *to, size_t size,
                           const char *from); /* truncated to fit, on a character boundary */
int pyusdt_places_allocate(int fd);           /* a new file's pages for all there are */
void pyusdt_places_copy_to(struct pyusdt_ctl_header *file); /* copies them there */
uint32_t pyusdt_place_number(const char *module, const char *function, const char *file,
                             uint32_t line); /* pyusdt_place(), under the lock */
extern uint32_t pyusdt_places_count;         /* of those that have a number, from 1 on */
void pyusdt_place_names(uint32_t place, const char **module,
                        const char **function); /* of one that is known; under the lock */

/* place_match.c: under the lock */
void pyusdt_patterns_add(struct pyusdt_patterns *patterns, uint32_t probe,
                         const struct pyusdt_want *want);
bool pyusdt_patterns_count(const struct pyusdt_patterns *patterns, uint32_t probe,
                           const char *module, const char *function);

/* session_paths.c: under the lock */
void pyusdt_paths_set(unsigned number, uint64_t generation, const struct pyusdt_path *paths,
                      uint32_t n);
uint32_t pyusdt_paths_args(unsigned number); /* bits of the arguments that are their values */

/* in_target_count.c: under the lock; the counting itself is in in_target_count.h */
void pyusdt_counts_begin(struct pyusdt_slot *slot); /* a session is about to be served */
uint8_t pyusdt_counts_row(struct pyusdt_slot *slot,
                          uint32_t probe); /* one more, and 1; 0: there is no room */
uint32_t pyusdt_counts_end_rows(
    struct pyusdt_slot *slot); /* how many the area needs: there will be no more */
void pyusdt_counts_announce(struct pyusdt_slot *slot); /* which there are, to its tracer */
void pyusdt_counts_discard(
    struct pyusdt_slot *slot); /* the session is dead: their memory back to the system */

/* watcher.c */
void pyusdt_watcher_after_fork(void); /* in a forked child: nothing is watched there */
void pyusdt_watcher_end(void);        /* the process ends, or this object is unloaded */

/* target_table.c */
int pyusdt_target_table_set(const struct pyusdt_probe_desc *table,
                            unsigned n);                         /* the private one */
int pyusdt_target_table_allocate(int fd);                        /* a new file's place for it */
void pyusdt_target_table_copy_to(struct pyusdt_ctl_header *ctl); /* copies it there */
int pyusdt_target_table_grow(const struct pyusdt_probe_desc *table,
                             unsigned n); /* both, and the sessions */

/* session_join.c */
int pyusdt_sessions_join(int dir); /* publishing: attach to every session that waits */
void pyusdt_sessions_add_probes(
    uint32_t first); /* probes from `first` on are new to those that are served */
bool pyusdt_slot_open(
    unsigned number); /* serve the wanted sessions; false: an event is lost or unwanted */
void pyusdt_slot_check_tracer(unsigned number, uint64_t now); /* is the tracer alive? */
bool pyusdt_slot_close_rings(
    struct pyusdt_slot *slot); /* to its tracer; under the lock. false: a thread is inside */
void pyusdt_slot_count_drop(unsigned number,
                            uint64_t wanted); /* count an event that found no area */
void pyusdt_sessions_check_tracers(
    void); /* cleans up after sessions whose tracers are dead, served or not */
void pyusdt_demand_everything(struct pyusdt_demand *demand, uint32_t first,
                              uint32_t frames); /* everything of the probes from `first` on */

/* head_room.c; 0 or -PYUSDT_KEEPS_… */
int pyusdt_head_room_reserve(
    int dir,
    uint64_t bytes); /* may a buffer have so many bytes more? dir: the run directory, or -1 */
int pyusdt_head_room_check_addresses(uint64_t bytes); /* the same of addresses */
void pyusdt_head_room_recheck(void);                  /* the next one checks the limits */

/* area.c; 0, a descriptor or -errno */
int pyusdt_core_open_rundir(
    void); /* opens the run directory that this process has published itself in */
void pyusdt_area_format_name(unsigned number, uint64_t generation, enum pyusdt_file kind,
                             uint32_t ring, char *text); /* of a file */
int pyusdt_area_make(struct pyusdt_slot *slot, int dir, unsigned number,
                     const struct pyusdt_session_header *header);
int pyusdt_area_make_ring(struct pyusdt_slot *slot, int dir, unsigned number, uint64_t generation,
                          uint32_t k);                 /* the k-th */
void pyusdt_area_unmap_ring(struct pyusdt_ring *ring); /* which no thread holds or can take */
bool pyusdt_slot_add_ring(struct pyusdt_slot *slot, unsigned number,
                          uint32_t have); /* a ring more */
bool pyusdt_ring_add_pages(struct pyusdt_slot *slot,
                           struct pyusdt_ring *ring); /* more pages; only by the ring's holder */

/* flight_recorder.c: all of it under the lock */
bool pyusdt_flight_is_wanted(void);
int pyusdt_flight_start(int dir);                 /* publishing: if PYUSDT_FLIGHT asks for it */
int pyusdt_flight_make_ring(int dir, uint32_t k); /* one more */
void pyusdt_flight_add_probes(uint32_t first);    /* probes from `first` on are new */
void pyusdt_flight_close(void);                   /* in a forked child: it is the parent's */
/* so that no more than seven files of dead processes stay; kind: of the two that outlive them */
void pyusdt_flight_remove_oldest(int dir, enum pyusdt_file kind);

/* ring.c */
uint32_t pyusdt_self_tid(void);
bool pyusdt_ring_take_over(struct pyusdt_line *line, uint32_t heir);

#pragma GCC visibility pop

static inline bool pyusdt_place_is_known(uint32_t place)
{
    return place - 1 < __atomic_load_n(&pyusdt_places_count, __ATOMIC_RELAXED);
}

/* Whether the probe is one of this process, which is published: a forked child publishes itself
 * here. */
static inline bool pyusdt_is_published(unsigned probe)
{
    if (PYUSDT_UNLIKELY(probe >= atomic_load_explicit(&pyusdt_core.nprobes, memory_order_acquire)))
        return false;
    if (PYUSDT_UNLIKELY(!atomic_load_explicit(&pyusdt_core.family->alive, memory_order_relaxed))) {
        pyusdt_core_publish_child();
        if (probe >= atomic_load_explicit(&pyusdt_core.nprobes, memory_order_acquire) ||
            !atomic_load_explicit(&pyusdt_core.family->alive, memory_order_acquire))
            return false; /* the child cannot be traced */
    }
    return true;
}

static inline struct pyusdt_ctl_slot *pyusdt_ctl_slot(unsigned number)
{
    return &pyusdt_core.slots[number];
}

#endif
