/*
 * Events of all rings in the order of their time.
 *
 * Why no older event can come (docs/internals/ring.md has it in full): a refresh reads the clock first (T), then the rings. A ring that is
 * not busy then, a ring or a process that is not there yet, will be taken later, and its holder reads the clock after
 * that: its events are not older than T. All events of a ring that is not busy are below the head that is read next.
 */
#define _GNU_SOURCE
#include "session/ring_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "events/event_decode.h"
#include "session/kept_session.h"
#include "session/ring_heap.h"
#include "session/ring_source.h"
#include "session/rundir_scan.h"
#include "session/session_warnings.h"
#include "session/target_enable.h"
#include "session/target_process.h"
#include "session/target_remarks.h"
#include "session/target_scan.h"
#include "shared/os.h"

#define BUSY_CHECKS 64           /* at a busy ring: a firing takes about as long as ten checks */
#define LIFE_CHECK_NS 100000000u /* how often it is checked that the processes live */
#define MAX_STALL \
    10 /* times orderlag: a busy producer that fires old events holds up those of others no longer */
#define PUBLISH_SHARE 8 /* of a ring is consumed before its tail is published, within one poll */

/* ---- one ring ---- */

/* No producer that keeps to the protocol can have made this. Its address range stays until the target goes. */
static void give_up(struct pyusdt_source *source)
{
    source->share->corrupt++;
    pyusdt_source_leave_heap(source);
    source->position = source->limit;
    source->size = 0;
    source->safe = UINT64_MAX;
}

/* Copies the header at position, behind a part of the ring that has no pages. 1: there is one; 0: none; -EBADMSG: nonsense. */
static int copy_header(struct pyusdt_source *source)
{
    for (;;) {
        uint64_t available = source->limit - source->position,
                 at = source->position & (source->size - 1);
        if (available == 0)
            return 0;
        if (available < sizeof source->next)
            return -EBADMSG;
        memcpy(&source->next, source->data + at, sizeof source->next);
        if (source->next.probe != PYUSDT_RING_SKIP)
            return pyusdt_event_is_header_valid(&source->next, available) ? 1 : -EBADMSG;
        if (source->next.size > available || source->next.size != source->size - at)
            return -EBADMSG;
        source->position += source->next.size;
    }
}

/* The probe or the place of an event, if not known: made since the tables were copied, if it is one. 1; 0: it cannot be read now;
 * -EBADMSG. */
static int read_unknown(struct pyusdt_session *session, struct pyusdt_target *target, uint32_t word)
{
    uint32_t probe = PYUSDT_EVENT_PROBE(word);
    int r =
        probe < target->table->table.nprobes ? 0 : pyusdt_target_read_new_probes(session, target);

    if (r == 0)
        r = probe < target->table->table.nprobes
                ? pyusdt_target_read_places(session, target, PYUSDT_EVENT_PLACE(word))
                : -ENOENT;
    return r == 0 ? 1 : r == -ENOMEM ? 0 : -EBADMSG;
}

/* The places of the functions in its stack; those that the process does not have stay unknown. */
static void read_frame_places(struct pyusdt_session *session, struct pyusdt_target *target,
                              const struct pyusdt_event *event)
{
    uint32_t last = pyusdt_event_max_place(event);

    if (last <= PYUSDT_MAX_PLACES)
        pyusdt_target_read_places(session, target, last);
}

/* Copies the header of the next event and checks it. 1, 0 or -EBADMSG, as above. */
static int read_next_header(struct pyusdt_session *session, struct pyusdt_source *source)
{
    int r = copy_header(source);

    if (r != 1)
        return r;
    if (source->next.probe >= source->target->table->table.nprobes && session->concurrent) {
        source->share->deferred = true; /* it is read again at the next refresh */
        return 0;
    }
    r = source->next.probe < source->target->table->table.nprobes
            ? 1
            : read_unknown(session, source->target, source->next.probe);
    if (r != 1)
        return r;
    if (source->next.time > session->refreshed_at && source->next.time > pyusdt_now())
        return -EBADMSG; /* published before it happened */
    source->last = source->next.time;
    return 1;
}

static void enqueue(struct pyusdt_session *session, struct pyusdt_source *source)
{
    int r = read_next_header(session, source);
    source->waiting = r == 1 && pyusdt_share_push(source->share, source) == 0;
    if (r == 1 && !source->waiting) /* the next refresh tries it again */
        pyusdt_session_warn_failure(session, "process %u: its ring cannot be read: %s",
                                    source->target->pid, strerror(ENOMEM));
    else if (r < 0)
        give_up(source);
}

/* ---- refreshing the rings ---- */

/* Reads how far the ring is filled. A head that makes no sense is a ring that is no ring any more. */
static void read_head(struct pyusdt_session *session, struct pyusdt_source *source)
{
    uint64_t head = atomic_load_explicit(&source->line->head, memory_order_acquire);

    if (head - source->position > source->size ||
        head - source->position < source->limit - source->position)
        give_up(source);
    else
        source->limit = head;
    if (source->limit - source->position > source->size / 2)
        session->half_full = true;
}

/* A firing that goes on is waited for, for a moment. */
static bool stays_busy(const struct pyusdt_source *source)
{
    bool busy = true;

    for (int i = 0; i < BUSY_CHECKS && busy; i++)
        busy = atomic_load(&source->line->busy) != 0;
    return busy;
}

static void refresh_ring(struct pyusdt_session *session, struct pyusdt_source *source, uint64_t now,
                         bool dead)
{
    bool busy = !dead && stays_busy(source);

    read_head(session, source);
    if (pyusdt_source_is_given_up(source))
        return;
    if (dead) {
        source->safe = UINT64_MAX; /* nothing will come */
    } else if (!busy) {
        source->safe = now;
        source->busy_since = 0;
    } else {
        if (source->busy_since == 0 || source->busy_limit != source->limit) {
            source->busy_since = now;
            source->busy_limit = source->limit;
        }
        if (now - source->busy_since > session->orderlag)
            source->safe = now; /* not waited for any longer */
        else if (source->safe < source->last)
            source->safe = source->last;
        if (now - source->safe > MAX_STALL * session->orderlag && now > source->safe)
            source->safe = now - MAX_STALL * session->orderlag;
    }
    if (!source->waiting)
        enqueue(session, source);
}

uint64_t pyusdt_source_drop_events(struct pyusdt_session *session, struct pyusdt_source *source,
                                   uint64_t *by_probe)
{
    const uint32_t nprobes = source->target->table->table.nprobes;
    uint64_t n = 0;

    if (pyusdt_source_is_given_up(source))
        return 0;
    pyusdt_source_leave_heap(source);
    if (source->target->life == PYUSDT_ALIVE)
        stays_busy(source);
    read_head(session, source);
    for (; !pyusdt_source_is_given_up(source) && copy_header(source) == 1; n++) {
        if (by_probe && PYUSDT_EVENT_PROBE(source->next.probe) < nprobes)
            by_probe[PYUSDT_EVENT_PROBE(source->next.probe)]++;
        source->position += source->next.size;
    }
    return n;
}

static void refresh_target(struct pyusdt_session *session, struct pyusdt_target *target,
                           uint64_t now, bool check_life)
{
    if (target->life == PYUSDT_ALIVE &&
        (check_life || atomic_load(&target->ctl->state) == PYUSDT_CTL_EXITED) &&
        pyusdt_target_is_dead(target))
        target->life = PYUSDT_DEAD; /* before its rings are read for the last time */
    pyusdt_target_map_new(session, target);
    pyusdt_target_add_work(target);
    for (uint32_t k = 0; k < target->rings; k++) {
        struct pyusdt_source *source = target->source[k];
        if (!source || pyusdt_source_is_given_up(source))
            continue;
        refresh_ring(session, source, now, target->life == PYUSDT_DEAD);
        if (session->watermark > source->safe)
            session->watermark = source->safe;
    }
}

static bool is_ready(const struct pyusdt_target *target)
{
    return atomic_load(&target->slot->ready) == target->rundir->header.generation;
}

static bool has_unread(const struct pyusdt_session *session, const struct pyusdt_target *target)
{
    if (session->counts && target->area && !target->counts_taken)
        return true;
    if (target->rings_refused || (!target->area && !target->area_refused && is_ready(target)))
        return true; /* it could not be mapped for the moment */
    for (uint32_t k = 0; k < target->rings; k++) {
        const struct pyusdt_source *source = target->source[k];
        if (source && !pyusdt_source_is_given_up(source) &&
            (source->limit != source->position ||
             (source->kept && source->done != source->position)))
            return true; /* to read, or to be shown before it goes */
    }
    return false;
}

/* A dead target whose rings are empty is finished; it makes room in the list of the living. */
static void finish_dead(struct pyusdt_session *session)
{
    uint32_t left = 0;

    for (uint32_t i = 0; i < session->nliving; i++) {
        struct pyusdt_target *target = session->targets[session->living[i]];
        if (target->life == PYUSDT_DEAD && !has_unread(session, target))
            pyusdt_target_finish(session, target);
        else
            session->living[left++] = session->living[i];
    }
    session->nliving = left;
}

void pyusdt_session_refresh(struct pyusdt_session *session)
{
    uint64_t now = pyusdt_now();
    bool check_life = now >= session->next_life_check;

    atomic_thread_fence(memory_order_seq_cst); /* the clock first, then all else */
    if (session->header.flags & PYUSDT_SESSION_BARRIER)
        pyusdt_os_barrier();
    if (check_life) {
        session->next_life_check = now + LIFE_CHECK_NS;
        pyusdt_session_scan_rundirs(session, now);
    }
    pyusdt_kept_write_seen(session, now);
    pyusdt_session_scan(session, false);
    session->watermark = now;
    session->half_full = false;
    for (uint32_t i = 0; i < session->nliving; i++)
        refresh_target(session, session->targets[session->living[i]], now, check_life);
    finish_dead(session);
    session->refreshed_at = now;
}

/* Is there something that a later poll can deliver without anybody's firing a probe? */
static bool is_pending(const struct pyusdt_session *session)
{
    for (uint32_t i = 0; i < session->nshares; i++)
        if (session->share[i].nheap > 0)
            return true;
    for (uint32_t i = 0; i < session->nliving; i++) {
        const struct pyusdt_target *target = session->targets[session->living[i]];
        for (uint32_t k = 0; k < target->rings; k++) {
            const struct pyusdt_source *source = target->source[k];
            if (source && !pyusdt_source_is_given_up(source) && source->busy_since != 0 &&
                session->refreshed_at - source->busy_since <= session->orderlag)
                return true;
        }
    }
    return false;
}

/* ---- delivering ---- */

/* Takes the event at the source's position apart. Who writes to the ring meanwhile is not trusted: each byte is read once.
 * 0, or PYUSDT_EVENT_DEFERRED, or -EBADMSG. */
static int decode(struct pyusdt_session *session, const struct pyusdt_source *source,
                  struct pyusdt_event *event)
{
    const struct pyusdt_ring_event *header = &source->next; /* as it was when it was checked */
    const uint8_t *bytes = source->data + (source->position & (source->size - 1));
    uint32_t at = pyusdt_event_values_end(header);
    uint8_t *rest = source->share->rest;
    int r;

    if (PYUSDT_EVENT_CAPTURES(header->args) != 0)
        memcpy(rest, bytes + at, header->size - at);
    event->target = source->target->index;
    r = pyusdt_event_decode(header, at, bytes + sizeof *header, rest, event);
    if (r != 0 || event->nframes == 0 ||
        pyusdt_event_max_place(event) <= source->target->known_places.n)
        return r;
    if (session->concurrent)
        return PYUSDT_EVENT_DEFERRED;
    read_frame_places(session, source->target, event);
    return 0;
}

/* Behind the event: 1 if the ring has one more, whose header is read; 0 or -EBADMSG. */
static int advance(struct pyusdt_session *session, struct pyusdt_source *source)
{
    source->position += source->next.size;
    if (source->position - source->published >= source->size / PUBLISH_SHARE)
        pyusdt_source_publish_tail(source);
    return read_next_header(session, source);
}

/* The time of the oldest event of all rings but the first: so far that one is read without the others. */
static uint64_t time_of_second(const struct pyusdt_share *share)
{
    uint64_t time = UINT64_MAX;

    for (uint32_t i = 1; i < 3 && i < share->nheap; i++)
        if (share->heap[i]->next.time < time)
            time = share->heap[i]->next.time;
    return time;
}

/* The first ring has been read: its next event (r is 1) gets its place in the heap, or the ring leaves it. */
static void reinsert(struct pyusdt_share *share, struct pyusdt_source *source, int r)
{
    if (r == 1) {
        pyusdt_share_sift_down(share, 0);
        return;
    }
    pyusdt_source_publish_tail(source);
    pyusdt_share_pop(share);
    if (r < 0)
        give_up(source);
}

static void count_delivered(struct pyusdt_share *share, const struct pyusdt_source *source,
                            uint64_t time)
{
    if (time < share->last)
        share->out_of_order++;
    else
        share->last = time;
    share->delivered++;
    share->again += source->position < source->shown;
}

/* Events of the ring that is first in the heap, as long as it is; how many. */
static int deliver_first(struct pyusdt_session *session, struct pyusdt_share *share, uint64_t bound,
                         int max_events, pyusdt_event_fn *fn, void *arg, bool *stop)
{
    struct pyusdt_source *source = share->heap[0];
    uint64_t second = time_of_second(share), last = second < bound ? second : bound;
    struct pyusdt_event event;
    const uint64_t begun = source->position;
    int n = 0, r = 1, result;

    while (r == 1 && !*stop && n < max_events && source->next.time <= last) {
        result = decode(session, source, &event);
        if (result == 0)
            result = fn(arg, &event);
        else if (result < 0) {
            r = result;
            break;
        }
        if (result == PYUSDT_EVENT_DEFERRED) {
            share->deferred = true;
            break;
        }
        *stop = result != 0;
        count_delivered(share, source, event.time);
        n++;
        r = advance(session, source);
    }
    source->work += PYUSDT_EVENT_WORK * (uint64_t)n + (source->position - begun);
    *stop |= share->deferred; /* what comes behind it has its turn behind it */
    reinsert(share, source, r);
    return n;
}

int pyusdt_session_deliver(struct pyusdt_session *session, uint32_t share, uint64_t until_ns,
                           int max_events, pyusdt_event_fn *fn, void *arg, bool *stop)
{
    struct pyusdt_share *of = &session->share[share];
    uint64_t bound = until_ns < session->watermark ? until_ns : session->watermark;
    int n = 0;

    of->deferred = false;
    while (!*stop && n < max_events && of->nheap > 0 && of->heap[0]->next.time <= bound)
        n += deliver_first(session, of, bound, max_events - n, fn, arg, stop);
    return n;
}

int pyusdt_session_poll_by(struct pyusdt_session *session, uint64_t until_ns, int max_events,
                           pyusdt_deliver_fn *deliver, void *arg)
{
    const struct timespec pause = {0, 1000000};
    int limit = max_events > 0 ? max_events : INT32_MAX, n;
    bool stop = false;

    if (!session->started || session->forked)
        return 0;
    n = deliver(arg, session, until_ns, limit, &stop);
    if (!stop && n < limit) {
        pyusdt_session_refresh(session);
        n += deliver(arg, session, until_ns, limit - n, &stop);
    }
    while (session->stopped && n == 0 && !stop && is_pending(session) &&
           session->refreshed_at <= until_ns) {
        nanosleep(&pause, NULL); /* for a producer that is inside a firing: orderlag at most */
        pyusdt_session_refresh(session);
        n = deliver(arg, session, until_ns, limit, &stop);
    }
    for (uint32_t i = 0; i < session->nshares; i++)
        for (uint32_t k = 0; k < session->share[i].nheap; k++)
            pyusdt_source_publish_tail(session->share[i].heap[k]);
    return n;
}

struct whole {
    pyusdt_event_fn *fn;
    void *arg;
};

static int deliver_whole(void *arg, struct pyusdt_session *session, uint64_t until_ns,
                         int max_events, bool *stop)
{
    const struct whole *whole = arg;

    return pyusdt_session_deliver(session, 0, until_ns, max_events, whole->fn, whole->arg, stop);
}

int pyusdt_session_poll(struct pyusdt_session *session, uint64_t until_ns, int max_events,
                        pyusdt_event_fn *fn, void *arg)
{
    struct whole whole = {fn, arg};

    return pyusdt_session_poll_by(session, until_ns, max_events, deliver_whole, &whole);
}

bool pyusdt_session_is_half_full(const struct pyusdt_session *session)
{
    return session->half_full;
}

uint64_t pyusdt_session_watermark(const struct pyusdt_session *session)
{
    return session->watermark;
}

/* ---- shares ---- */

int pyusdt_session_make_shares(struct pyusdt_session *session, uint32_t shares)
{
    struct pyusdt_share *share;

    if (session->started || shares == 0)
        return -EINVAL;
    if (!(share = calloc(shares, sizeof *share)))
        return -ENOMEM;
    free(session->share); /* nothing is there yet */
    session->share = share;
    session->nshares = shares;
    return 0;
}

void pyusdt_session_set_concurrent(struct pyusdt_session *session, bool concurrent)
{
    session->concurrent = concurrent;
}

bool pyusdt_session_has_deferred(const struct pyusdt_session *session, uint32_t share)
{
    return session->share[share].deferred;
}

uint64_t pyusdt_session_unread_bytes(const struct pyusdt_session *session, uint32_t share)
{
    const struct pyusdt_share *of = &session->share[share];
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < of->nheap; i++)
        bytes += of->heap[i]->limit - of->heap[i]->position;
    return bytes;
}
