/* Enabling and disabling the session's probes in one target. */
#define _GNU_SOURCE
#include "session/target_enable.h"

#include <errno.h>
#include <string.h>

#include "session/control_file.h"
#include "session/session_warnings.h"
#include "session/thread_clock.h"
#include "shared/wakeup.h"

struct enable {
    struct pyusdt_target *target;
    uint64_t bit;
};

static int enable_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    struct enable *enable = arg;

    (void)desc;
    atomic_fetch_or(&enable->target->words[probe], enable->bit);
    PYUSDT_HOOK(31);
    enable->target->wanted++;
    return 0;
}

/* All the words that the process has by now, be they known here or not. */
static struct pyusdt_enable_bits enabled_words(const struct pyusdt_target *target)
{
    uint32_t nprobes = atomic_load(&target->ctl->nprobes);

    if (nprobes < target->table->table.nprobes)
        nprobes = target->table->table.nprobes;
    if (nprobes > target->room)
        nprobes = target->room;
    return (struct pyusdt_enable_bits){target->slot, target->words, nprobes,
                                       target->rundir->header.slot};
}

static void enable_wanted(const struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct enable enable = {target, 1ull << target->rundir->header.slot};
    struct pyusdt_probe_table table = target->table->table;

    table.pid = target->pid;
    target->wanted = 0;
    for (uint32_t i = 0; i < session->nwants; i++)
        pyusdt_probe_table_match(&table, &session->wants[i], enable_probe, &enable);
}

static int note_match(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    (void)probe, (void)desc;
    return *(uint32_t *)arg = 1;
}

/* Whether the session wants what the process's forked children fire: probes of processes of any number. */
static uint32_t wants_children(const struct pyusdt_session *session,
                               const struct pyusdt_target *target)
{
    struct pyusdt_probe_table table = target->table->table;
    uint32_t wants = 0;

    table.pid = 0;
    if (!(session->header.flags & (PYUSDT_SESSION_ALL | PYUSDT_SESSION_CHILDREN)))
        return 0;
    for (uint32_t i = 0; wants == 0 && i < session->nwants; i++)
        pyusdt_probe_table_match(&table, &session->wants[i], note_match, &wants);
    return wants;
}

/* A process that has joined by itself is left alone but for bits that it may not have set yet. */
void pyusdt_target_attach(struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct pyusdt_enable_bits bits = enabled_words(target);

    atomic_store(&target->slot->pid, target->pid == target->who.pid
                                         ? 0
                                         : target->pid); /* before it reads what is wanted */
    atomic_store(&target->slot->children, wants_children(session, target));
    if (atomic_load(&target->slot->wanted) != target->rundir->header.generation) {
        atomic_store(&target->slot->child_error, 0);
        pyusdt_enable_bits_clear(&bits); /* the slot's former owner's */
        atomic_store(&target->slot->wanted,
                     target->rundir->header.generation); /* before the bits that lead to it */
        PYUSDT_HOOK(30);
    }
    enable_wanted(session, target);
    pyusdt_watcher_wake(target->ctl);
}

/* A table that is not larger than before, or cannot be read, counts as unchanged: only a hostile process makes one. */
static int copy_grown_table(struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct pyusdt_table_copy *copy;
    struct pyusdt_ctl_header header;
    int r;

    r = pyusdt_control_copy(target, NULL, &header, &copy);
    if (r == -ENOMEM)
        pyusdt_session_warn_failure(session, "process %u has new probes, which cannot be read: %s",
                                    target->pid, strerror(-r));
    if (r != 0)
        return r == -ENOMEM ? r : 0;
    target->changes = header.changes;
    if (copy->table.nprobes <= target->table->table.nprobes || copy->table.nprobes > target->room) {
        pyusdt_table_copy_release(copy);
        return 0;
    }
    pyusdt_table_copy_release(target->table);
    target->table = copy;
    if (target->life == PYUSDT_ALIVE && !session->stopped && !target->rundir->cut_off) {
        enable_wanted(session, target);
        pyusdt_watcher_wake(target->ctl);
    }
    return 0;
}

int pyusdt_target_read_new_probes(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint64_t begun;
    int r;

    if (!target->ctl || atomic_load(&target->ctl->changes) == target->changes)
        return 0;
    begun = pyusdt_thread_ns();
    r = copy_grown_table(session, target);
    target->rundir->ns += pyusdt_thread_ns() - begun;
    return r;
}

int pyusdt_target_read_places(struct pyusdt_session *session, struct pyusdt_target *target,
                              uint32_t place)
{
    int r = 0;

    if (place <= target->known_places.n)
        return 0;
    if (target->places &&
        atomic_load_explicit(&target->ctl->nplaces, memory_order_acquire) >= place) {
        uint64_t begun = pyusdt_thread_ns();
        r = pyusdt_places_copy(&target->known_places, target->places,
                               atomic_load(&target->ctl->nplaces));
        target->rundir->ns += pyusdt_thread_ns() - begun;
    }
    if (place <= target->known_places.n)
        return 0;
    if (r != -ENOMEM)
        return -ENOENT;
    pyusdt_session_warn_failure(session, "process %u: names of its functions cannot be read: %s",
                                target->pid, strerror(-r));
    return r;
}

/* The probes are off from here on. The buffers' addresses go back with the process's next session. */
void pyusdt_target_detach(struct pyusdt_target *target)
{
    uint64_t generation = target->rundir->header.generation;
    struct pyusdt_enable_bits bits;

    if (!target->ctl)
        return;
    bits = enabled_words(target);
    pyusdt_enable_bits_clear(&bits);
    atomic_compare_exchange_strong(&target->slot->wanted, &generation, 0);
    pyusdt_watcher_wake(target->ctl);
}
