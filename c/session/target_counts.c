/* Firings that targets have counted by themselves, as events. */
#define _GNU_SOURCE
#include "session/target_counts.h"

#include <errno.h>

#include "session/session_state.h"
#include "session/session_warnings.h"
#include "session/target_drops.h"
#include "session/target_enable.h"
#include "shared/os.h"

static struct pyusdt_counts *counts_of(const struct pyusdt_target *target)
{
    return (struct pyusdt_counts *)(void *)((char *)target->area + PYUSDT_AREA_COUNTS);
}

static uint32_t min_u32(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

/* The number in the word, which starts anew. Other tags than the session's are what no target writes. */
static uint64_t take_count(_Atomic uint64_t *word, uint64_t generation)
{
    uint64_t found = atomic_load_explicit(word, memory_order_relaxed);

    if (PYUSDT_COUNT_TAG(found) != PYUSDT_COUNT_TAG(generation) || PYUSDT_COUNT(found) == 0)
        return 0;
    return PYUSDT_COUNT(atomic_exchange(word, PYUSDT_COUNT_TAG(generation)));
}

/* false: the count is impossible, and the target is not asked again. */
static bool add_counted(struct pyusdt_session *session, struct pyusdt_target *target, uint64_t more)
{
    target->counted += more;
    if (target->counted <= pyusdt_target_max_events(session, target))
        return true;
    target->counts_invalid = true;
    pyusdt_session_warn(
        session,
        "process %u says that it has counted %llu firings, which cannot be: what it counts is left out",
        target->pid, (unsigned long long)target->counted);
    return false;
}

/* false: there is no memory for the names of the place. */
static bool deliver_word(struct pyusdt_session *session, struct pyusdt_target *target,
                         uint32_t probe, _Atomic uint64_t *word, uint32_t place,
                         pyusdt_event_fn *fn, void *arg)
{
    struct pyusdt_event event = {
        .target = target->index, .probe = probe, .place = place, .time = pyusdt_now(), .args = 1};

    int r = pyusdt_target_read_places(session, target, place);
    if (r != 0)
        return r != -ENOMEM; /* it is counted there, but not published yet */
    event.arg[0] = take_count(word, target->rundir->header.generation);
    if (event.arg[0] == 0 || !add_counted(session, target, event.arg[0]))
        return true;
    session->counted += event.arg[0];
    fn(arg, &event);
    return true;
}

/* false: something is left for the next time. */
static bool deliver_target(struct pyusdt_session *session, struct pyusdt_target *target,
                           pyusdt_event_fn *fn, void *arg)
{
    uint32_t mapped = (uint32_t)((target->area_size - PYUSDT_AREA_SIZE(0)) / PYUSDT_AREA_ROW);
    uint32_t rows = min_u32(atomic_load(&target->area->counted), mapped);
    uint32_t room = min_u32(atomic_load(&target->area->countable), PYUSDT_MAX_PLACES);
    bool whole = true;

    for (uint32_t row = 0; row < rows; row++) {
        uint32_t probe = target->area->counted_probe[row];
        _Atomic uint64_t *words = counts_of(target)->at[row];
        for (uint32_t place = 1;
             probe < target->table->table.nprobes && place <= room && !target->counts_invalid;
             place++)
            if (atomic_load_explicit(&words[place - 1], memory_order_relaxed) != 0)
                whole &= deliver_word(session, target, probe, &words[place - 1], place, fn, arg);
    }
    return whole;
}

void pyusdt_session_deliver_counts(struct pyusdt_session *session, pyusdt_event_fn *fn, void *arg)
{
    if (!session->counts || session->forked)
        return;
    for (uint32_t i = 0; i < session->nliving; i++) {
        struct pyusdt_target *target = session->targets[session->living[i]];
        bool dead =
            target->life == PYUSDT_DEAD; /* before: what it counted until then is all there */
        bool whole =
            !target->area || target->counts_invalid || deliver_target(session, target, fn, arg);
        target->counts_taken |= dead && whole;
    }
}
