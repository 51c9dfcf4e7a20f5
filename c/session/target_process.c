/*
 * One traced process as its tracer sees it: control file, area, rings; joining and leaving; its death.
 * All that it maps was made by somebody else: see session_state.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/wakeup.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "session/build_version.h"
#include "discovery/rundir_iter.h"
#include "session/session_state.h"

#define TOO_MANY_MAX (1ull << 50) /* so that the counts of all probes can be added up */
#define EXIT_GRACE_NS \
    1000000000ull /* a process that said goodbye is believed gone after this, whatever it does */

/* ---- the control file ---- */

/* As it is in our namespace, where it is known there. */
static void find_pid(struct pyusdt_target *target, uint64_t pidns)
{
    if (target->pid == 0)
        target->pid = pyusdt_pid_here(pidns, &target->who, &target->base->lookups);
    target->visible = target->pid != 0;
    if (!target->visible)
        target->pid = target->who.pid;
}

static int map_ctl(const struct pyusdt_session *session, struct pyusdt_target *target,
                   const char *text, struct pyusdt_error *error)
{
    struct pyusdt_ctl_header header;
    struct stat st;
    char what[32];
    uint64_t size;
    int r, fd = pyusdt_file_open(target->base->in.dir, text, O_RDWR, &size);

    if (fd < 0)
        return fd;
    r = size == 0 ? -EAGAIN /* its process is about to make it */
        : size < sizeof header || size > PYUSDT_CTL_MAX || fstat(fd, &st) != 0 ? -EINVAL
                                                                               : 0;
    if (r == 0) {
        target->ctl_size = (uint32_t)size;
        target->ctl = pyusdt_guard_map(NULL, size, PROT_READ | PROT_WRITE, fd);
        r = target->ctl ? 0 : -ENOMEM;
    }
    close(fd);
    if (r != 0)
        return r;
    r = pyusdt_ctl_copy(target, session->ntargets ? session->targets[session->ntargets - 1] : NULL,
                        &header, &target->table);
    if (r == -EPROTONOSUPPORT) {
        snprintf(what, sizeof what, "process %u", target->pid ? target->pid : target->who.pid);
        return pyusdt_build_differs(what, &header, error);
    }
    if (r != 0)
        return r;
    target->uid = st.st_uid;
    target->gid = header.gid;
    memcpy(target->comm, header.comm, sizeof target->comm);
    target->comm[sizeof target->comm - 1] = '\0';
    target->slot = (struct pyusdt_ctl_slot *)(void *)((char *)target->ctl + header.slots) +
                   target->base->header.slot;
    target->words = (void *)((char *)target->ctl + header.words);
    target->room = (uint32_t)((size - header.words) / sizeof(uint64_t));
    target->changes = header.changes;
    target->places = pyusdt_places_shared(target->ctl, &header, size);
    find_pid(target, header.pidns);
    memcpy(target->ancestors, header.ancestors, sizeof target->ancestors);
    target->ancestors_known = header.pidns == pyusdt_os_pidns();
    return 0;
}

struct pyusdt_target *pyusdt_target_open(const struct pyusdt_session *session,
                                         struct pyusdt_base *base, const char *text,
                                         const struct pyusdt_identity *who, uint32_t host,
                                         struct pyusdt_error *error)
{
    struct pyusdt_target *target = calloc(1, sizeof *target);
    int r = target ? 0 : -ENOMEM;

    if (r == 0) {
        target->base = base;
        target->who = *who;
        target->pid = host;
        target->index = session->ntargets;
        r = map_ctl(session, target, text, error);
    }
    if (r == 0)
        return target;
    pyusdt_target_free(target);
    if (r != -EPROTONOSUPPORT)
        pyusdt_error_set(error, r, "control file %s: %s", text, strerror(-r));
    return NULL;
}

/* ---- joining and leaving ---- */

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
static struct pyusdt_bits bits_of(const struct pyusdt_target *target)
{
    uint32_t nprobes = atomic_load(&target->ctl->nprobes);

    if (nprobes < target->table->table.nprobes)
        nprobes = target->table->table.nprobes;
    if (nprobes > target->room)
        nprobes = target->room;
    return (struct pyusdt_bits){target->slot, target->words, nprobes, target->base->header.slot};
}

static void enable_wanted(const struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct enable enable = {target, 1ull << target->base->header.slot};
    struct pyusdt_table table = target->table->table;

    table.pid = target->pid;
    target->wanted = 0;
    for (uint32_t i = 0; i < session->nwants; i++)
        pyusdt_table_match(&table, &session->wants[i], enable_probe, &enable);
}

static int note_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    (void)probe, (void)desc;
    return *(uint32_t *)arg = 1;
}

/* Whether the session wants what the process's forked children fire: probes of processes of any number. */
static uint32_t wants_children(const struct pyusdt_session *session,
                               const struct pyusdt_target *target)
{
    struct pyusdt_table table = target->table->table;
    uint32_t wants = 0;

    table.pid = 0;
    if (!(session->header.flags & (PYUSDT_SESSION_ALL | PYUSDT_SESSION_CHILDREN)))
        return 0;
    for (uint32_t i = 0; wants == 0 && i < session->nwants; i++)
        pyusdt_table_match(&table, &session->wants[i], note_probe, &wants);
    return wants;
}

/* A process that has joined by itself is left alone but for bits that it may not have set yet. */
void pyusdt_target_attach(struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct pyusdt_bits bits = bits_of(target);

    atomic_store(&target->slot->pid, target->pid == target->who.pid
                                         ? 0
                                         : target->pid); /* before it looks what is wanted */
    atomic_store(&target->slot->children, wants_children(session, target));
    if (atomic_load(&target->slot->wanted) != target->base->header.generation) {
        atomic_store(&target->slot->child_error, 0);
        pyusdt_bits_clear(&bits); /* the slot's former owner's */
        atomic_store(&target->slot->wanted,
                     target->base->header.generation); /* before the bits that lead to it */
        PYUSDT_HOOK(30);
    }
    enable_wanted(session, target);
    pyusdt_bell_ring(target->ctl);
}

/* A table that is no larger than it was, or can not be read, is as if it had not changed: the process is hostile. */
static int copy_grown_table(struct pyusdt_session *session, struct pyusdt_target *target)
{
    struct pyusdt_table_copy *copy;
    struct pyusdt_ctl_header header;
    int r;

    r = pyusdt_ctl_copy(target, NULL, &header, &copy);
    if (r == -ENOMEM)
        pyusdt_session_failed(session, "process %u has new probes, which can not be read: %s",
                              target->pid, strerror(-r));
    if (r != 0)
        return r == -ENOMEM ? r : 0;
    target->changes = header.changes;
    if (copy->table.nprobes <= target->table->table.nprobes || copy->table.nprobes > target->room) {
        pyusdt_ctl_drop(copy);
        return 0;
    }
    pyusdt_ctl_drop(target->table);
    target->table = copy;
    if (target->life == PYUSDT_ALIVE && !session->stopped && !target->base->cut_off) {
        enable_wanted(session, target);
        pyusdt_bell_ring(target->ctl);
    }
    return 0;
}

int pyusdt_target_grow(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint64_t begun;
    int r;

    if (!target->ctl || atomic_load(&target->ctl->changes) == target->changes)
        return 0;
    begun = pyusdt_thread_ns();
    r = copy_grown_table(session, target);
    target->base->ns += pyusdt_thread_ns() - begun;
    return r;
}

int pyusdt_target_learn_places(struct pyusdt_session *session, struct pyusdt_target *target,
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
        target->base->ns += pyusdt_thread_ns() - begun;
    }
    if (place <= target->known_places.n)
        return 0;
    if (r != -ENOMEM)
        return -ENOENT;
    pyusdt_session_failed(session, "process %u: names of its functions can not be read: %s",
                          target->pid, strerror(-r));
    return r;
}

/* The probes are off from here on. The buffers' addresses go back with the process's next session. */
void pyusdt_target_detach(struct pyusdt_target *target)
{
    uint64_t generation = target->base->header.generation;
    struct pyusdt_bits bits;

    if (!target->ctl)
        return;
    bits = bits_of(target);
    pyusdt_bits_clear(&bits);
    atomic_compare_exchange_strong(&target->slot->wanted, &generation, 0);
    pyusdt_bell_ring(target->ctl);
}

/* ---- area and rings ---- */

static void file_name(const struct pyusdt_target *target, enum pyusdt_file kind, uint32_t ring,
                      char *text)
{
    struct pyusdt_name name = {.kind = kind,
                               .who = target->who,
                               .slot = target->base->header.slot,
                               .generation = target->base->header.generation,
                               .ring = ring};
    pyusdt_name_format(&name, text);
}

static bool is_area_size(uint64_t size)
{
    return size >= PYUSDT_AREA_SIZE(0) && size <= PYUSDT_AREA_SIZE(PYUSDT_COUNT_ROWS) &&
           (size - PYUSDT_AREA_SIZE(0)) % PYUSDT_AREA_ROW == 0;
}

static int map_area(struct pyusdt_target *target)
{
    char text[PYUSDT_NAME_SIZE];
    struct pyusdt_area *area;
    uint64_t size;
    int r, fd;

    file_name(target, PYUSDT_FILE_AREA, 0, text);
    fd = pyusdt_file_open(target->base->in.dir, text, O_RDWR, &size);
    if (fd < 0)
        return fd;
    area = is_area_size(size) ? pyusdt_guard_map(NULL, size, PROT_READ | PROT_WRITE, fd) : NULL;
    r = area ? 0 : is_area_size(size) ? -errno : -EINVAL;
    close(fd);
    if (r != 0)
        return r;
    if (atomic_load(&area->magic) != PYUSDT_AREA_MAGIC || area->version != PYUSDT_LAYOUT_VERSION ||
        area->nprobes != PYUSDT_MAX_PROBES || area->generation != target->base->header.generation ||
        area->ring_size != target->base->header.bufsize) {
        pyusdt_guard_unmap(area, size);
        return -EINVAL;
    }
    target->area = area;
    target->area_size = size;
    return 0;
}

/* What the tracer lacks for the moment is told of, and the look is repeated; else what is there is given up. Whether it is to be repeated. */
static bool is_to_be_repeated(struct pyusdt_session *session, const struct pyusdt_target *target,
                              const char *what, int r)
{
    if (!pyusdt_is_shortage(r)) {
        session->corrupt++;
        return false;
    }
    pyusdt_session_failed(session, "process %u: its %s can not be read: %s", target->pid, what,
                          strerror(-r));
    return true;
}

static int map_ring_file(const struct pyusdt_target *target, uint32_t k,
                         struct pyusdt_source *source)
{
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;
    int r, fd;

    file_name(target, PYUSDT_FILE_RING, k, text);
    fd = pyusdt_file_open(target->base->in.dir, text, O_RDONLY, &size);
    if (fd < 0)
        return fd;
    if (size == target->base->header.bufsize)
        source->data = pyusdt_guard_map_twice(NULL, size, PROT_READ, fd, 0);
    r = source->data ? 0 : size == target->base->header.bufsize ? -errno : -EINVAL;
    close(fd);
    source->size = size;
    source->mapped = 2 * size;
    return r;
}

/* Rings come one by one; what can not be mapped is given up, and counted. false: it is tried again at the next look. */
static bool map_ring(struct pyusdt_session *session, struct pyusdt_target *target, uint32_t k)
{
    struct pyusdt_source *source = calloc(1, sizeof *source);
    int r = source ? map_ring_file(target, k, source) : -ENOMEM;

    if (r != 0 && is_to_be_repeated(session, target, "ring", r)) {
        free(source);
        return false;
    }
    target->source[k] = source;
    if (r != 0)
        return true;
    source->target = target;
    source->share = &session->share[(target->index + k) % session->nshares];
    source->line = &target->area->line[k];
    source->position = source->limit =
        atomic_load(&source->line->tail); /* of a session that was left */
    source->told = source->done = source->position;
    source->kept = target->base->header.keep_ns != 0;
    source->shown = source->kept ? atomic_load(&source->line->read) : 0;
    source->safe = session->looked;
    return true;
}

void pyusdt_target_update(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t rings;
    int r = 0;

    pyusdt_target_grow(session, target);
    pyusdt_target_take_remarks(session, target);
    if (!target->area && !target->area_refused &&
        atomic_load(&target->slot->ready) == target->base->header.generation)
        r = map_area(target);
    if (r != 0)
        target->area_refused = !is_to_be_repeated(session, target, "list of rings", r);
    if (!target->area) {
        pyusdt_base_failed(session, target);
        return;
    }
    rings = atomic_load(&target->area->rings);
    if (rings > target->base->header.max_rings)
        rings = target->base->header.max_rings;
    target->rings_refused = false;
    while (target->rings < rings && !target->rings_refused) {
        target->rings_refused = !map_ring(session, target, target->rings);
        target->rings += !target->rings_refused;
    }
    if (atomic_load_explicit(&target->area->error, memory_order_relaxed) != 0)
        pyusdt_base_failed(session, target);
}

/* ---- drops ---- */

uint64_t pyusdt_target_drops(const struct pyusdt_target *target, uint32_t probe)
{
    if (target->lies)
        return 0;
    if (target->area)
        return atomic_load_explicit(&target->area->drops[probe], memory_order_relaxed);
    return target->drops ? target->drops[probe] : 0;
}

/* Since the session began: one event in a nanosecond on each processor. */
uint64_t pyusdt_target_most(const struct pyusdt_session *session,
                            const struct pyusdt_target *target)
{
    uint64_t ns = pyusdt_now() - (target->base->resumed ? 0 : session->begun);

    return ns < TOO_MANY_MAX / session->processors ? (ns + 1) * session->processors : TOO_MANY_MAX;
}

/* What its shared memory says; where one of the counts is absurd, that. */
static uint64_t told_count(const struct pyusdt_target *target, uint64_t most)
{
    uint64_t failed = atomic_load(&target->slot->failed), sum = 0, largest = 0;
    uint32_t n = target->area || target->drops ? target->table->table.nprobes : 0;

    for (uint32_t probe = 0; probe < n; probe++) {
        uint64_t drops = pyusdt_target_drops(target, probe);
        largest = drops > largest ? drops : largest;
        sum += drops;
    }
    if (largest > most)
        return largest; /* the sum may have gone over */
    if (PYUSDT_FAILED_TAG(failed) == PYUSDT_FAILED_TAG(target->base->header.generation))
        sum += PYUSDT_FAILED_COUNT(failed);
    return sum;
}

/* Counts never go back. Who tells what can not be is believed no more; what was counted before stays. */
uint64_t pyusdt_target_dropped(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint64_t most, told;

    if (!target->ctl || target->lies)
        return target->dropped;
    most = pyusdt_target_most(session, target);
    told = told_count(target, most);
    if (told > target->dropped && told <= most && atomic_load(&target->slot->child_error) != 0)
        pyusdt_base_child_failed(session, target);
    if (told <= most && told >= target->dropped)
        return target->dropped = told;
    target->lies = true;
    pyusdt_session_trouble(
        session,
        "process %u says that it has lost %llu events, which can not be: what it loses is not counted",
        target->pid, (unsigned long long)told);
    return target->dropped;
}

static void keep_drops(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t nprobes = target->table->table.nprobes;

    if (pyusdt_target_dropped(session, target) == 0)
        return;
    target->drops = calloc(nprobes, sizeof *target->drops);
    for (uint32_t probe = 0; target->drops && probe < nprobes; probe++)
        target->drops[probe] = pyusdt_target_drops(target, probe);
}

/* ---- its end ---- */

bool pyusdt_target_is_dead(struct pyusdt_target *target)
{
    struct pyusdt_identity seen = {target->pid, 0, target->who.starttime};
    uint64_t now;

    if (target->visible && !pyusdt_alive(&seen))
        return true;
    if (atomic_load(&target->ctl->state) != PYUSDT_CTL_EXITED)
        return false;
    now = pyusdt_now();
    if (target->exited_at == 0)
        target->exited_at = now;
    return now - target->exited_at > EXIT_GRACE_NS;
}

/* Does a session besides ours still have something to read of the dead? */
static bool others_read(const struct pyusdt_target *target)
{
    const struct pyusdt_ctl_slot *slots = target->slot - target->base->header.slot;

    for (uint32_t i = 0; i < PYUSDT_MAX_SESSIONS; i++) {
        uint64_t wanted = atomic_load(&slots[i].wanted);
        if (i != target->base->header.slot && wanted != 0 &&
            pyusdt_session_alive(target->base->in.dir, i, wanted))
            return true;
    }
    return false;
}

static void remove_files(struct pyusdt_target *target)
{
    char text[PYUSDT_NAME_SIZE];

    for (uint32_t k = 0; k < target->base->header.max_rings;
         k++) { /* one may be there that was never told */
        file_name(target, PYUSDT_FILE_RING, k, text);
        pyusdt_file_discard(target->base->in.dir, text, target->life == PYUSDT_ALIVE);
    }
    PYUSDT_HOOK(34);
    file_name(target, PYUSDT_FILE_AREA, 0, text);
    pyusdt_file_discard(target->base->in.dir, text, false);
    if (target->life == PYUSDT_DEAD && !others_read(target)) {
        file_name(target, PYUSDT_FILE_CTL, 0, text);
        pyusdt_file_discard(target->base->in.dir, text, false);
    }
}

static void unmap_buffers(struct pyusdt_target *target)
{
    for (uint32_t k = 0; k < PYUSDT_RINGS_MAX; k++)
        if (target->source[k]) {
            if (target->source[k]->data)
                pyusdt_guard_unmap((void *)(uintptr_t)target->source[k]->data,
                                   target->source[k]->mapped);
            free(target->source[k]);
            target->source[k] = NULL;
        }
    if (target->area)
        pyusdt_guard_unmap(target->area, target->area_size);
    target->area = NULL;
}

static void unmap(struct pyusdt_target *target)
{
    unmap_buffers(target);
    if (target->ctl)
        pyusdt_guard_unmap(target->ctl, target->ctl_size);
    target->ctl = NULL;
    target->places = NULL;
}

/* It is dead, and a forked child of it that is not published counts in its control file: that stays mapped until the session ends. */
static bool has_orphans(struct pyusdt_session *session, const struct pyusdt_target *target)
{
    return target->life == PYUSDT_DEAD && !session->stopped &&
           session->norphaned < PYUSDT_ORPHANED_MAX && atomic_load(&target->slot->children) != 0 &&
           atomic_load(&target->ctl->forked) != 0;
}

void pyusdt_target_finish(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint64_t begun;
    bool orphans;

    if (target->life == PYUSDT_FINISHED)
        return;
    begun = pyusdt_thread_ns();
    pyusdt_target_add_work(target);
    keep_drops(session, target);
    target->base->nliving--;
    pyusdt_session_forget(session, target);
    orphans = has_orphans(session, target);
    session->norphaned += orphans;
    if (!orphans)
        pyusdt_target_detach(target);
    remove_files(target);
    for (uint32_t k = 0; k < target->rings; k++)
        if (target->source[k])
            pyusdt_source_forget(target->source[k]);
    if (orphans)
        unmap_buffers(target);
    else
        unmap(target);
    target->life = PYUSDT_FINISHED;
    target->base->ns += pyusdt_thread_ns() - begun;
}

void pyusdt_target_leave(struct pyusdt_target *target)
{
    for (uint32_t k = 0; k < target->rings; k++)
        if (target->source[k])
            pyusdt_source_leave(target->source[k]);
    unmap(target);
    target->life = PYUSDT_FINISHED;
}

void pyusdt_target_free(struct pyusdt_target *target)
{
    if (!target)
        return;
    unmap(target);
    pyusdt_ctl_drop(target->table);
    pyusdt_places_free(&target->known_places);
    free(target->drops);
    free(target);
}

void pyusdt_target_info(const struct pyusdt_target *target, struct pyusdt_target_info *info)
{
    *info = (struct pyusdt_target_info){.pid = target->pid,
                                        .uid = target->uid,
                                        .gid = target->gid,
                                        .nprobes = target->table->table.nprobes,
                                        .rings = target->rings,
                                        .wanted = target->wanted,
                                        .alive = target->life != PYUSDT_FINISHED,
                                        .visible = target->visible};
    if (target->ancestors_known)
        memcpy(info->ancestors, target->ancestors, sizeof info->ancestors);
    memcpy(info->comm, target->comm, sizeof info->comm);
}
