/*
 * The hot path: writes one event into a ring of each session that wants it.
 *
 * - It takes no lock, allocates nothing and makes no system call, except on the paths that are
 *   marked slow.
 * - A ring has one producer at a time: the thread whose id is in the ring's busy word.
 * - Everything below the shared head is complete. docs/internals/ring.md gives the reason for each
 *   memory order.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "target/target.h"
#include "shared/os.h"
#include "target/frame_pointers.h"
#include "target/in_target_count.h"
#include "target/encode.h"

#define SLOW __attribute__((noinline, cold))
#define ACQUIRE_ROUNDS \
    8 /* over all rings, giving way to their holders in between, before the event is dropped */
/* if all rings are full, a long event is dropped without trying rings other than the thread's
 * own */
#define FULL_NS 100000

/* What a thread stores in its one pointer of thread-specific data (a thread variable of a dlopened
 * object would be allocated on first use, perhaps inside a signal handler): tid (Linux has 22 bits
 * of it), the last ring in 4 bits, epoch in the rest. */
#define SELF_TID_BITS (UINTPTR_MAX > UINT32_MAX ? 32 : 22)
#define SELF_EPOCH_SHIFT (SELF_TID_BITS + 4)
#define SELF_TID(self) ((uint32_t)((self) & (((uintptr_t)1 << SELF_TID_BITS) - 1)))
#define SELF_RING(self) ((uint32_t)((self) >> SELF_TID_BITS) & 15)

static SLOW uintptr_t remember_thread(uint32_t tid, uint32_t ring)
{
    uintptr_t self = (uintptr_t)tid | (uintptr_t)ring << SELF_TID_BITS |
                     (uintptr_t)pyusdt_core.epoch << SELF_EPOCH_SHIFT;
    if (pyusdt_core.has_key)
        pthread_setspecific(pyusdt_core.key, (void *)self);
    return self;
}

static inline uintptr_t read_thread_word(void)
{
    uintptr_t self = pyusdt_core.has_key ? (uintptr_t)pthread_getspecific(pyusdt_core.key) : 0;
    if (PYUSDT_LIKELY(self != 0 && self >> SELF_EPOCH_SHIFT == (uintptr_t)pyusdt_core.epoch))
        return self;
    return remember_thread(pyusdt_os_tid(), 0);
}

uint32_t pyusdt_self_tid(void)
{
    return SELF_TID(read_thread_word());
}

/* ---- taking a ring ---- */

/* A full barrier: the clock is read after the tracer can see that the ring is busy. For a single
 * thread the tracer makes the barrier: no other thread takes rings, and a signal handler returns
 * its ring before it ends. */
static inline bool acquire_ring(const struct pyusdt_slot *slot, struct pyusdt_line *line,
                                uint32_t tid)
{
    uint32_t none = 0;

    if (atomic_load_explicit(&line->busy, memory_order_relaxed) != 0)
        return false;
    if (pyusdt_os_is_single_threaded() && slot->barrier) {
        atomic_store_explicit(&line->busy, tid, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        return true;
    }
    if (!atomic_compare_exchange_strong(&line->busy, &none, tid))
        return false;
#ifndef __x86_64__
    atomic_thread_fence(memory_order_seq_cst);
#endif
    return true;
}

static inline void release_ring(struct pyusdt_line *line)
{
    atomic_store_explicit(&line->busy, 0, memory_order_release);
}

/* A thread that ended inside (was cancelled, for example) left a ring whose private head is right:
 * payloads are written before the head moves. */
bool pyusdt_ring_take_over(struct pyusdt_line *line, uint32_t heir)
{
    uint32_t holder = atomic_load(&line->busy);
    if (holder == 0 || holder == PYUSDT_RING_CLOSED || !pyusdt_os_has_thread_ended(holder))
        return false;
    return atomic_compare_exchange_strong(&line->busy, &holder, heir);
}

static SLOW int acquire_any_ring(struct pyusdt_slot *slot, unsigned number,
                                 struct pyusdt_area *area, uint32_t tid)
{
    for (int round = 0; round < ACQUIRE_ROUNDS; round++) {
        uint32_t n = atomic_load_explicit(&slot->nrings, memory_order_acquire);
        for (uint32_t k = 0; k < n; k++)
            if (acquire_ring(slot, &area->line[k], tid)) {
                remember_thread(tid, k);
                return (int)k;
            }
        if (n < atomic_load_explicit(&slot->max_rings, memory_order_relaxed) &&
            pyusdt_slot_add_ring(slot, number, n))
            continue;
        if (round == ACQUIRE_ROUNDS / 2)
            for (uint32_t k = 0; k < n; k++)
                if (pyusdt_ring_take_over(&area->line[k], tid))
                    return (int)k;
        sched_yield();
    }
    return -1;
}

/* ---- writing an event ---- */

/* The head may move over everything that was read, and as far as there are pages: a skip must also
 * fit behind it. */
static void set_end(struct pyusdt_ring *ring, uint64_t ring_size)
{
    uint64_t read = ring->tail + ring_size;
    uint64_t pages =
        (ring->head & ~(ring_size - 1)) + ring->usable - sizeof(struct pyusdt_ring_event);

    ring->end = ring->usable < ring_size && pages < read ? pages : read;
}

/* There are no more pages: continues at the ring's beginning, if that was read. Published with the
 * next event. */
static bool skip_to_start(struct pyusdt_ring *ring, uint64_t ring_size, uint32_t size)
{
    struct pyusdt_ring_event *rest = (void *)(ring->data + (ring->head & (ring_size - 1)));
    uint64_t next = (ring->head | (ring_size - 1)) + 1;

    if (next + size - ring->tail > ring_size)
        return false;
    rest->size = (uint32_t)(next - ring->head);
    rest->probe = PYUSDT_RING_SKIP;
    ring->head = next;
    set_end(ring, ring_size);
    PYUSDT_HOOK(7);
    return true;
}

/* Whether size bytes fit behind the head. The tracer's tail is used only if it is plausible. */
static SLOW bool refresh_room(struct pyusdt_slot *slot, struct pyusdt_ring *ring,
                              const struct pyusdt_line *line, uint32_t size)
{
    uint64_t tail = atomic_load_explicit(&line->tail, memory_order_acquire);

    if (tail - ring->tail > ring->head - ring->tail) /* not in [the last valid value, head] */
        return false;
    ring->tail = tail;
    if (ring->head + size - tail > slot->size)
        return false;
    do
        set_end(ring, slot->size);
    while (ring->head + size > ring->end && pyusdt_ring_add_pages(slot, ring));
    return ring->head + size <= ring->end || skip_to_start(ring, slot->size, size);
}

/* The flight recorder's ring, where the oldest events make room. The tail moves before they are
 * overwritten, since events below it are ignored. Their sizes lie in shared memory: if one is
 * implausible, all are given up. */
static inline void overwrite_oldest(struct pyusdt_ring *ring, struct pyusdt_line *line,
                                    uint64_t ring_size, uint32_t size)
{
    if (PYUSDT_LIKELY(ring->head + size - ring->tail <= ring_size))
        return;
    do {
        const struct pyusdt_ring_event *event =
            (const void *)(ring->data + (ring->tail & (ring_size - 1)));
        uint32_t oldest = event->size;
        bool sane = oldest >= sizeof(struct pyusdt_ring_event) && oldest % 8 == 0 &&
                    oldest <= ring->head - ring->tail;
        ring->tail = sane ? ring->tail + oldest : ring->head;
    } while (ring->head + size - ring->tail > ring_size);
    atomic_store_explicit(&line->tail, ring->tail, memory_order_relaxed);
#ifdef __x86_64__
    /* stores are seen in their order, by a reader who reads while we write */
    atomic_signal_fence(memory_order_release);
#else
    atomic_thread_fence(memory_order_release);
#endif
    PYUSDT_HOOK(6);
}

/* A ring, and the thread that holds it. */
struct ring_lock {
    struct pyusdt_slot *slot;
    struct pyusdt_area *area;
    struct pyusdt_line *line;
    struct pyusdt_ring *ring;
    uint32_t tid;
};

static inline struct ring_lock make_ring_lock(struct pyusdt_slot *slot, struct pyusdt_area *area,
                                              uint32_t k, uint32_t tid)
{
    struct pyusdt_line *line = &area->line[k];
    struct pyusdt_ring *ring = &slot->ring[k];

    __asm__(""
            : "+r"(line),
              "+r"(ring)); /* one address of each: compilers else compute that of each field anew */
    return (struct ring_lock){slot, area, line, ring, tid};
}

/* For calls that are rare: the compiler keeps no part of a struct in a register whose address is
 * passed on. */
static inline struct ring_lock copy_ring_lock(const struct ring_lock *ring_lock)
{
    return (struct ring_lock){ring_lock->slot, ring_lock->area, ring_lock->line, ring_lock->ring,
                              pyusdt_self_tid()};
}

static SLOW void count_drop(struct pyusdt_area *area, unsigned probe)
{
    atomic_fetch_add_explicit(&area->drops[probe], 1, memory_order_relaxed);
}

/* Most events are short, and the room for the longest possible one is nearly always free. Only
 * otherwise this one is measured. */
static inline bool reserve_space(const struct ring_lock *ring_lock,
                                 const struct pyusdt_demand *demand, uint32_t mask,
                                 const struct pyusdt_args *args, bool overwrite)
{
    struct pyusdt_ring *ring = ring_lock->ring;

    if (overwrite) {
        overwrite_oldest(ring, ring_lock->line, ring_lock->slot->size,
                         pyusdt_event_size(demand, mask, args));
        return true;
    }
    return PYUSDT_LIKELY(ring->head + demand->max_size <= ring->end) ||
           refresh_room(ring_lock->slot, ring, ring_lock->line,
                        pyusdt_event_size(demand, mask, args));
}

/* The event that was made behind the head: its time last, so that it is published soon after.
 * Returns that. */
static inline uint64_t publish_event(const struct ring_lock *ring_lock,
                                     struct pyusdt_ring_event *event, uint32_t size)
{
    uint64_t time = pyusdt_now();

    event->time = time;
    PYUSDT_HOOK(3);
    ring_lock->ring->head += size;
    atomic_store_explicit(&ring_lock->line->head, ring_lock->ring->head, memory_order_release);
    PYUSDT_HOOK(4);
    return time;
}

static inline struct pyusdt_ring_event *event_at_head(const struct ring_lock *ring_lock)
{
    return (void *)(ring_lock->ring->data + (ring_lock->ring->head & (ring_lock->slot->size - 1)));
}

/* The holder of a ring writes one event. Returns its time; 0: the ring is full. */
static inline __attribute__((always_inline)) uint64_t write_event(const struct ring_lock *ring_lock,
                                                                  unsigned probe, uint32_t place,
                                                                  const struct pyusdt_args *args,
                                                                  bool overwrite)
{
    const struct pyusdt_demand *demand =
        &atomic_load_explicit(&ring_lock->slot->demand, memory_order_relaxed)[probe];
    uint32_t mask = atomic_load_explicit(&demand->mask, memory_order_relaxed);
    struct pyusdt_ring_event *event;

    if (PYUSDT_UNLIKELY(mask == 0))
        return pyusdt_now(); /* a stray bit in the enable word */
    if (PYUSDT_UNLIKELY(
            (mask & args->missing & (PYUSDT_DEMAND_STACK | (PYUSDT_DEMAND_STACK - 1))) != 0)) {
        count_drop(ring_lock->area, probe); /* wanted after they were made */
        return pyusdt_now();
    }
    if (!reserve_space(ring_lock, demand, mask, args, overwrite))
        return 0;
    event = event_at_head(ring_lock);
    return publish_event(ring_lock, event,
                         pyusdt_event_encode(event, PYUSDT_EVENT_WORD(probe, place), ring_lock->tid,
                                             demand, mask, args));
}

static const struct pyusdt_args no_args = {.missing = ~0u};

static SLOW uint64_t write_with_stale_demand(struct ring_lock ring_lock, unsigned probe,
                                             uint32_t place)
{
    return write_event(&ring_lock, probe, place, &no_args, false);
}

/* The same of one of which nothing is read, unless the session has become another. */
static inline uint64_t write_bare(const struct ring_lock *ring_lock, unsigned probe, uint32_t place)
{
    const struct pyusdt_demand *demand =
        &atomic_load_explicit(&ring_lock->slot->demand, memory_order_relaxed)[probe];
    struct pyusdt_ring *ring = ring_lock->ring;
    struct pyusdt_ring_event *event;
    const uint32_t size = sizeof *event;

    if (PYUSDT_UNLIKELY(atomic_load_explicit(&demand->mask, memory_order_relaxed) !=
                        PYUSDT_DEMAND_FIRE))
        return write_with_stale_demand(copy_ring_lock(ring_lock), probe, place);
    if (PYUSDT_UNLIKELY(ring->head + size > ring->end) &&
        !refresh_room(ring_lock->slot, ring, ring_lock->line, size))
        return 0;
    event = event_at_head(ring_lock);
    pyusdt_event_encode_bare(event, PYUSDT_EVENT_WORD(probe, place), ring_lock->tid);
    return publish_event(ring_lock, event, size);
}

static bool may_add_ring(const struct pyusdt_slot *slot, uint32_t have)
{
    return have < atomic_load_explicit(&slot->max_rings, memory_order_relaxed) &&
           (have + 1) * slot->size <= PYUSDT_SPILL_MAX;
}

/* Into any ring with room, of the existing ones and those that may be made. 0: there is none. */
static inline uint64_t write_to_other_ring(const struct ring_lock *full, unsigned number,
                                           unsigned probe, uint32_t place,
                                           const struct pyusdt_args *args)
{
    struct pyusdt_slot *slot = full->slot;
    uint64_t time = 0;

    for (uint32_t k = 0; time == 0; k++) {
        uint32_t n = atomic_load_explicit(&slot->nrings, memory_order_acquire);
        if (k == n && !(may_add_ring(slot, n) && pyusdt_slot_add_ring(slot, number, n)))
            break;
        if (!acquire_ring(slot, &full->area->line[k], full->tid))
            continue;
        struct ring_lock other = make_ring_lock(slot, full->area, k, full->tid);
        time = write_event(&other, probe, place, args, false);
        release_ring(other.line);
        if (time != 0)
            remember_thread(full->tid, k);
    }
    return time;
}

/* The thread's ring is full. The thread holds it meanwhile, so that the session does not change. If
 * no ring has room, events are dropped without trying for a while, as fast as they were written.
 * Returns the time. */
static SLOW uint64_t write_elsewhere_or_drop(struct ring_lock full, unsigned number, unsigned probe,
                                             uint32_t place, const struct pyusdt_args *args)
{
    uint64_t now = pyusdt_now(), time;

    if (now >= atomic_load_explicit(&full.slot->full_until, memory_order_relaxed)) {
        if ((time = write_to_other_ring(&full, number, probe, place, args)) != 0)
            return time;
        atomic_store_explicit(&full.slot->full_until, now + FULL_NS, memory_order_relaxed);
    }
    count_drop(full.area, probe);
    PYUSDT_HOOK(2);
    return now;
}

/* The ring that this thread had last, else any: its number, or -1. */
static inline int acquire_ring_of_thread(struct pyusdt_slot *slot, unsigned number,
                                         struct pyusdt_area *area, uintptr_t self)
{
    uint32_t k = SELF_RING(self), tid = SELF_TID(self);

    if (PYUSDT_LIKELY(k < atomic_load_explicit(&slot->nrings, memory_order_acquire) &&
                      acquire_ring(slot, &area->line[k], tid)))
        return (int)k;
    return acquire_any_ring(slot, number, area, tid);
}

/* To a session that was served just now, as `wanted`. bare: nothing of it is read. */
static inline __attribute__((always_inline)) void
write_to_served_session(unsigned number, struct pyusdt_slot *slot, uint64_t wanted, unsigned probe,
                        uint32_t place, const struct pyusdt_args *args, bool bare)
{
    struct pyusdt_area *area = atomic_load_explicit(&slot->area, memory_order_relaxed);
    uintptr_t self = read_thread_word();
    int k = acquire_ring_of_thread(slot, number, area, self);
    struct ring_lock ring_lock;
    uint64_t time;

    if (PYUSDT_UNLIKELY(k < 0)) {
        count_drop(area, probe);
        return;
    }
    ring_lock = make_ring_lock(slot, area, (uint32_t)k, SELF_TID(self));
    PYUSDT_HOOK(1);
    /* From here on the session cannot change: a thread that changes it holds every ring. */
    if (PYUSDT_UNLIKELY(atomic_load_explicit(&slot->generation, memory_order_acquire) == 0 ||
                        (uint32_t)k >= atomic_load_explicit(&slot->nrings, memory_order_acquire))) {
        release_ring(ring_lock.line);
        pyusdt_slot_count_drop(number, wanted);
        return;
    }
    time = bare ? write_bare(&ring_lock, probe, place)
                : write_event(&ring_lock, probe, place, args, false);
    if (PYUSDT_UNLIKELY(time == 0))
        time = write_elsewhere_or_drop(copy_ring_lock(&ring_lock), number, probe, place, args);
    release_ring(ring_lock.line);
    PYUSDT_HOOK(5);
    if (PYUSDT_UNLIKELY(time >= atomic_load_explicit(&slot->next_check, memory_order_relaxed)))
        pyusdt_slot_check_tracer(number, time);
}

/* One address: compilers else compute that of each field anew. */
static inline struct pyusdt_slot *find_slot(unsigned number)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];

    __asm__("" : "+r"(slot));
    return slot;
}

/* Whether the slot serves the session that wants to be served there. */
static inline bool is_served(const struct pyusdt_slot *slot, uint64_t wanted)
{
    return PYUSDT_LIKELY(wanted != 0 &&
                         wanted == atomic_load_explicit(&slot->generation, memory_order_acquire));
}

static inline uint64_t read_wanted(unsigned number)
{
    return atomic_load_explicit(&pyusdt_ctl_slot(number)->wanted, memory_order_acquire);
}

static inline __attribute__((always_inline)) void
write_to_session(unsigned number, unsigned probe, uint32_t place, const struct pyusdt_args *args)
{
    struct pyusdt_slot *slot = find_slot(number);
    uint64_t wanted = read_wanted(number);

    if (is_served(slot, wanted) || pyusdt_slot_open(number))
        write_to_served_session(number, slot, wanted, probe, place, args, false);
    else
        pyusdt_slot_count_drop(number, wanted);
}

/* The flight recorder: a slot of its own, whose session never ends. */
static SLOW void write_to_flight_recorder(unsigned probe, uint32_t place,
                                          const struct pyusdt_args *args)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[PYUSDT_FLIGHT_SLOT];
    struct pyusdt_area *area = atomic_load_explicit(&slot->area, memory_order_relaxed);
    uintptr_t self = read_thread_word();
    int k = acquire_ring_of_thread(slot, PYUSDT_FLIGHT_SLOT, area, self);
    struct ring_lock ring_lock;

    if (k < 0) {
        count_drop(area, probe);
        return;
    }
    ring_lock = make_ring_lock(slot, area, (uint32_t)k, SELF_TID(self));
    PYUSDT_HOOK(1);
    write_event(&ring_lock, probe, place, args, true);
    release_ring(ring_lock.line);
    PYUSDT_HOOK(5);
}

/* ---- the public functions ---- */

void pyusdt_fire(unsigned probe, const struct pyusdt_args *args)
{
    if (!pyusdt_is_published(probe)) {
        pyusdt_child_count_drop(probe, ~0ull);
        return;
    }
    for (uint64_t word = atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire);
         word != 0; word &= word - 1)
        write_to_session((unsigned)__builtin_ctzll(word), probe, 0, args);
    if (PYUSDT_UNLIKELY(pyusdt_core.flight != NULL))
        write_to_flight_recorder(probe, 0, args);
}

/* The demand of a served session for the probe. */
static inline const struct pyusdt_demand *find_demand(const struct pyusdt_slot *slot,
                                                      unsigned probe)
{
    return &atomic_load_explicit(&slot->demand, memory_order_relaxed)[probe];
}

/* The part after pyusdt_count_fast(); false: the session gets an event. */
static SLOW bool finish_count(enum pyusdt_counted counted, unsigned number, unsigned probe,
                              uint32_t place, uint64_t wanted)
{
    const struct pyusdt_slot *slot = find_slot(number);

    if (counted == PYUSDT_COUNT_NEW &&
        pyusdt_count_decide(number, probe, place, wanted) == PYUSDT_COUNT_MODE_COUNTS)
        counted = pyusdt_count_fast(slot, find_demand(slot, probe), place, wanted);
    if (counted == PYUSDT_COUNT_CHECK)
        pyusdt_slot_check_tracer(number, pyusdt_now());
    return counted == PYUSDT_COUNT_DONE || counted == PYUSDT_COUNT_CHECK;
}

/* Whether the session has counted there instead of getting an event. */
static inline bool has_counted(unsigned number, unsigned probe, uint32_t place)
{
    const struct pyusdt_slot *slot = find_slot(number);
    uint64_t wanted = read_wanted(number);
    enum pyusdt_counted counted;

    if (!is_served(slot, wanted))
        return false;
    counted = pyusdt_count_fast(slot, find_demand(slot, probe), place, wanted);
    if (PYUSDT_UNLIKELY(counted == PYUSDT_COUNT_NEW || counted == PYUSDT_COUNT_CHECK))
        return finish_count(counted, number, probe, place, wanted);
    return counted == PYUSDT_COUNT_DONE;
}

SLOW void pyusdt_drop_event(unsigned number, unsigned probe)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    uint64_t wanted = atomic_load(&pyusdt_ctl_slot(number)->wanted);

    if (wanted == atomic_load(&slot->generation) && wanted != 0)
        count_drop(atomic_load(&slot->area), probe);
    else
        pyusdt_slot_count_drop(number, wanted);
}

void pyusdt_fire_at(unsigned probe, uint32_t place, uint64_t sessions,
                    const struct pyusdt_args *args)
{
    bool known = pyusdt_place_is_known(place), recorded = sessions >> PYUSDT_FLIGHT_SLOT & 1;

    if (!pyusdt_is_published(probe)) {
        pyusdt_child_count_drop(probe, sessions);
        return;
    }
    for (uint64_t word =
             atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire) & sessions;
         word != 0; word &= word - 1) {
        unsigned number = (unsigned)__builtin_ctzll(word);
        if (PYUSDT_UNLIKELY(!known))
            pyusdt_drop_event(number, probe);
        else if (!has_counted(number, probe, place))
            write_to_session(number, probe, place, args);
    }
    if (PYUSDT_UNLIKELY(pyusdt_core.flight != NULL && recorded)) {
        if (known)
            write_to_flight_recorder(probe, place, args);
        else
            count_drop(atomic_load(&pyusdt_core.slot[PYUSDT_FLIGHT_SLOT].area), probe);
    }
}

static inline uint32_t read_mask(const struct pyusdt_slot *slot, unsigned probe)
{
    return atomic_load_explicit(&find_demand(slot, probe)->mask, memory_order_relaxed);
}

/* The same of all of these that have their bits set, whatever has to be done for it first. */
static SLOW uint32_t serve_and_read_demand(unsigned probe, uint64_t sessions)
{
    uint32_t mask = 0;

    if (!pyusdt_is_published(probe))
        return pyusdt_child_demand(probe, sessions);
    for (uint64_t word =
             atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire) & sessions;
         word != 0; word &= word - 1) {
        unsigned number = (unsigned)__builtin_ctzll(word);
        struct pyusdt_slot *slot = &pyusdt_core.slot[number];
        uint64_t wanted =
            atomic_load_explicit(&pyusdt_ctl_slot(number)->wanted, memory_order_acquire);
        if (wanted == 0) {
            pyusdt_slot_open(number); /* which clears stray bits */
            continue;
        }
        if (wanted == atomic_load_explicit(&slot->generation, memory_order_acquire) ||
            pyusdt_slot_open(number))
            mask |= read_mask(slot, probe);
        else if (pyusdt_core_republish_as_user())
            return serve_and_read_demand(probe, sessions);
        else if (atomic_load_explicit(&pyusdt_ctl_slot(number)->wanted, memory_order_relaxed) != 0)
            mask |= PYUSDT_DEMAND_FIRE; /* wanted, but cannot be served: pyusdt_fire() counts it */
    }
    if (pyusdt_core.flight != NULL && sessions >> PYUSDT_FLIGHT_SLOT)
        mask |= read_mask(&pyusdt_core.slot[PYUSDT_FLIGHT_SLOT], probe);
    return mask;
}

/* Whether sessions can be checked at once: the process is published, and has no flight recorder. */
static inline bool is_ready(unsigned probe)
{
    return PYUSDT_LIKELY(probe < atomic_load_explicit(&pyusdt_core.nprobes, memory_order_acquire) &&
                         atomic_load_explicit(&pyusdt_core.family->alive, memory_order_relaxed) &&
                         pyusdt_core.flight == NULL);
}

/* The usual case calls nothing: all that want the probe are served, in a process that is
 * published. */
static inline uint32_t read_demand(unsigned probe, uint64_t sessions)
{
    uint32_t mask = 0;

    if (!is_ready(probe))
        return serve_and_read_demand(probe, sessions);
    for (uint64_t word =
             atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire) & sessions;
         word != 0; word &= word - 1) {
        unsigned number = (unsigned)__builtin_ctzll(word);
        const struct pyusdt_slot *slot = find_slot(number);
        if (!is_served(slot, read_wanted(number)))
            return serve_and_read_demand(probe, sessions);
        mask |= read_mask(slot, probe);
    }
    return mask;
}

uint32_t pyusdt_demand(unsigned probe)
{
    return read_demand(probe, ~0ull);
}

uint32_t pyusdt_demand_at(unsigned probe, uint64_t sessions)
{
    return read_demand(probe, sessions);
}

/* Fires an event without arguments; no sessions are left. Kept apart from counting, which does not
 * need the registers of this part. */
static __attribute__((noinline)) uint32_t write_bare_to_session(unsigned number,
                                                                struct pyusdt_slot *slot,
                                                                uint64_t wanted, unsigned probe,
                                                                uint32_t place)
{
    write_to_served_session(number, slot, wanted, probe, place, &no_args, true);
    return 0;
}

static SLOW uint32_t finish_bare(enum pyusdt_counted counted, unsigned number, uint64_t wanted,
                                 unsigned probe, uint32_t place)
{
    if (finish_count(counted, number, probe, place, wanted))
        return 0;
    return write_bare_to_session(number, find_slot(number), wanted, probe, place);
}

/* To one session, by its demand, if it is left. All its calls are tail calls, so the usual path
 * saves no registers. */
static inline uint32_t fire_bare_to_session(unsigned number, unsigned probe, uint32_t place)
{
    struct pyusdt_slot *slot = find_slot(number);
    uint64_t wanted = read_wanted(number);
    const struct pyusdt_demand *demand;
    enum pyusdt_counted counted;
    uint32_t mask;

    if (!is_served(slot, wanted))
        return serve_and_read_demand(probe, 1ull << number);
    demand = find_demand(slot, probe);
    mask = atomic_load_explicit(&demand->mask, memory_order_relaxed);
    if (mask != PYUSDT_DEMAND_FIRE)
        return mask;
    counted = pyusdt_count_fast(slot, demand, place, wanted);
    if (counted == PYUSDT_COUNT_DONE)
        return 0;
    if (PYUSDT_UNLIKELY(counted != PYUSDT_COUNT_NOT))
        return finish_bare(counted, number, wanted, probe, place);
    return write_bare_to_session(number, slot, wanted, probe, place);
}

static __attribute__((noinline)) uint32_t fire_bare_to_sessions(uint64_t word, unsigned probe,
                                                                uint32_t place, uint64_t *sessions)
{
    uint32_t demand = 0;

    *sessions = 0;
    for (; word != 0; word &= word - 1) {
        unsigned number = (unsigned)__builtin_ctzll(word);
        uint32_t left = fire_bare_to_session(number, probe, place);
        if (left != 0)
            *sessions |= 1ull << number;
        demand |= left;
    }
    return demand;
}

uint32_t pyusdt_fire_bare_at(unsigned probe, uint32_t place, uint64_t *sessions)
{
    uint64_t word;

    if (!is_ready(probe) || !pyusdt_place_is_known(place))
        return serve_and_read_demand(probe, *sessions); /* all are left */
    word = atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire) & *sessions;
    if (PYUSDT_UNLIKELY(word == 0 || (word & (word - 1)) != 0))
        return fire_bare_to_sessions(word, probe, place, sessions);
    *sessions = word;
    return fire_bare_to_session((unsigned)__builtin_ctzll(word), probe, place);
}

/* ---- with a stack ---- */

pyusdt_stack_fn *pyusdt_stack_taker;

/* The demand of these sessions. Each gets only its own part of it. */
struct stack_demand {
    uint32_t frames;
    bool natives;
};

static struct stack_demand find_stack_demand(unsigned probe, uint64_t sessions)
{
    uint64_t word = atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire);
    struct stack_demand stack_demand = {0, false};

    if (pyusdt_core.flight != NULL)
        word |= 1ull << PYUSDT_FLIGHT_SLOT;
    for (word &= sessions; word != 0; word &= word - 1) {
        const struct pyusdt_slot *slot = &pyusdt_core.slot[__builtin_ctzll(word)];
        const struct pyusdt_demand *demand =
            atomic_load_explicit(&slot->demand, memory_order_acquire);
        if (demand == NULL || !(read_mask(slot, probe) & PYUSDT_DEMAND_STACK))
            continue;
        if (demand[probe].frames > stack_demand.frames)
            stack_demand.frames = demand[probe].frames;
        stack_demand.natives |= demand[probe].natives;
    }
    if (stack_demand.frames > PYUSDT_MAX_FRAMES)
        stack_demand.frames = PYUSDT_MAX_FRAMES;
    return stack_demand;
}

/* Both kinds together are at most PYUSDT_MAX_FRAMES, and the word that says that there are more. */
static void read_stack(struct stack_demand stack_demand, const uintptr_t *from, uint64_t *frame,
                       struct pyusdt_args *args)
{
    const uint32_t most =
        stack_demand.frames < PYUSDT_MAX_FRAMES / 2 ? stack_demand.frames : PYUSDT_MAX_FRAMES / 2;
    const uint64_t *given = args->frame;
    uint32_t others = args->nframes, room;
    bool more = false;

    args->natives = stack_demand.natives ? pyusdt_read_native_frames(from, frame, most, &more) : 0;
    room = PYUSDT_MAX_FRAMES - args->natives;
    room = stack_demand.frames < room ? stack_demand.frames : room;
    if (pyusdt_stack_taker != NULL) {
        others = pyusdt_stack_taker(frame + args->natives, room);
    } else if (others != 0) {
        others = others < room ? others : room;
        memcpy(frame + args->natives, given, others * sizeof *frame);
    }
    if (others == 0 && more)
        frame[args->natives + others++] = PYUSDT_FRAME_MORE;
    args->frame = frame;
    args->nframes = args->natives + others;
}

/* Memory for frames, which need more than a small stack has. A thread that fires takes one. */
static uint64_t frame_buffer[PYUSDT_FRAME_BUFFERS][PYUSDT_MAX_FRAMES + 1];

/* Threads have stacks of their own, so they begin at buffers of their own. -1: as many threads
 * are taking stacks just now. */
static inline int acquire_frame_buffer(uintptr_t stack)
{
    for (uint32_t i = 0; i < PYUSDT_FRAME_BUFFERS; i++) {
        uint32_t at = (uint32_t)((stack >> 16) + i) % PYUSDT_FRAME_BUFFERS, none = 0;
        if (atomic_compare_exchange_strong_explicit(&pyusdt_core.family->frames_in_use[at], &none,
                                                    1, memory_order_acquire, memory_order_relaxed))
            return (int)at;
    }
    return -1;
}

static inline void release_frame_buffer(int at)
{
    atomic_store_explicit(&pyusdt_core.family->frames_in_use[at], 0, memory_order_release);
}

__attribute__((noinline)) void pyusdt_fire_with_stack(unsigned probe, uint32_t place,
                                                      uint64_t sessions,
                                                      const struct pyusdt_args *args)
{
    struct pyusdt_args with = *args;
    struct stack_demand stack_demand = pyusdt_is_published(probe)
                                           ? find_stack_demand(probe, sessions)
                                           : (struct stack_demand){0, false};
    const uintptr_t *here = __builtin_frame_address(0);
    int at = stack_demand.frames != 0 ? acquire_frame_buffer((uintptr_t)here) : -1;

    if (at >= 0)
        read_stack(stack_demand, here, frame_buffer[at], &with);
    else
        with.nframes = 0;
    if (PYUSDT_UNLIKELY(at < 0 && stack_demand.frames != 0))
        with.missing |= PYUSDT_DEMAND_STACK; /* a session that wants the stack counts a drop */
    if (place == 0 && sessions == ~0ull)
        pyusdt_fire(probe, &with);
    else
        pyusdt_fire_at(probe, place, sessions, &with);
    if (at >= 0)
        release_frame_buffer(at);
}
