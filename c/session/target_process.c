/* One traced process: mapping its files, and its end. */
#define _GNU_SOURCE
#include "session/target_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "discovery/rundir_iter.h"
#include "session/build_version.h"
#include "session/control_file.h"
#include "session/ring_source.h"
#include "session/session_warnings.h"
#include "session/stale_files.h"
#include "session/target_drops.h"
#include "session/target_enable.h"
#include "session/target_list.h"
#include "session/target_remarks.h"
#include "session/thread_clock.h"
#include "shared/error.h"
#include "shared/sigbus_guard.h"
#include "shared/test_hook.h"
#include "shared/os.h"

#define EXIT_GRACE_NS \
    1000000000ull /* a process that has announced its exit counts as dead after this */

#include "shared/wakeup.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "session/build_version.h"
#include "discovery/rundir_iter.h"
#include "session/session_state.h"

/* ---- the control file ---- */

/* As it is in our namespace, where it is known there. */
static void find_pid(struct pyusdt_target *target, uint64_t pidns)
{
    if (target->pid == 0)
        target->pid = pyusdt_find_local_pid(pidns, &target->who, &target->rundir->lookups);
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
    int r, fd = pyusdt_file_open(target->rundir->in.dir, text, O_RDWR, &size);

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
    r = pyusdt_control_copy(target,
                            session->ntargets ? session->targets[session->ntargets - 1] : NULL,
                            &header, &target->table);
    if (r == -EPROTONOSUPPORT) {
        snprintf(what, sizeof what, "process %u", target->pid ? target->pid : target->who.pid);
        return pyusdt_build_set_error(what, &header, error);
    }
    if (r != 0)
        return r;
    target->uid = st.st_uid;
    target->gid = header.gid;
    memcpy(target->comm, header.comm, sizeof target->comm);
    target->comm[sizeof target->comm - 1] = '\0';
    target->slot = (struct pyusdt_ctl_slot *)(void *)((char *)target->ctl + header.slots) +
                   target->rundir->header.slot;
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
                                         struct pyusdt_session_dir *rundir, const char *text,
                                         const struct pyusdt_identity *who, uint32_t host,
                                         struct pyusdt_error *error)
{
    struct pyusdt_target *target = calloc(1, sizeof *target);
    int r = target ? 0 : -ENOMEM;

    if (r == 0) {
        target->rundir = rundir;
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

/* ---- area and rings ---- */

static void format_file_name(const struct pyusdt_target *target, enum pyusdt_file kind,
                             uint32_t ring, char *text)
{
    struct pyusdt_name name = {.kind = kind,
                               .process = target->who,
                               .slot = target->rundir->header.slot,
                               .generation = target->rundir->header.generation,
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

    format_file_name(target, PYUSDT_FILE_AREA, 0, text);
    fd = pyusdt_file_open(target->rundir->in.dir, text, O_RDWR, &size);
    if (fd < 0)
        return fd;
    area = is_area_size(size) ? pyusdt_guard_map(NULL, size, PROT_READ | PROT_WRITE, fd) : NULL;
    r = area ? 0 : is_area_size(size) ? -errno : -EINVAL;
    close(fd);
    if (r != 0)
        return r;
    if (atomic_load(&area->magic) != PYUSDT_AREA_MAGIC || area->version != PYUSDT_LAYOUT_VERSION ||
        area->nprobes != PYUSDT_MAX_PROBES ||
        area->generation != target->rundir->header.generation ||
        area->ring_size != target->rundir->header.bufsize) {
        pyusdt_guard_unmap(area, size);
        return -EINVAL;
    }
    target->area = area;
    target->area_size = size;
    return 0;
}

/* A shortage of the tracer's gives a warning, and is tried again; any other failure gives the file up. Whether it is tried again. */
static bool is_retryable(struct pyusdt_session *session, const struct pyusdt_target *target,
                         const char *what, int r)
{
    if (!pyusdt_is_shortage(r)) {
        session->corrupt++;
        return false;
    }
    pyusdt_session_warn_failure(session, "process %u: its %s cannot be read: %s", target->pid, what,
                                strerror(-r));
    return true;
}

static int map_ring_file(const struct pyusdt_target *target, uint32_t k,
                         struct pyusdt_source *source)
{
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;
    int r, fd;

    format_file_name(target, PYUSDT_FILE_RING, k, text);
    fd = pyusdt_file_open(target->rundir->in.dir, text, O_RDONLY, &size);
    if (fd < 0)
        return fd;
    if (size == target->rundir->header.bufsize)
        source->data = pyusdt_guard_map_twice(NULL, size, PROT_READ, fd, 0);
    r = source->data ? 0 : size == target->rundir->header.bufsize ? -errno : -EINVAL;
    close(fd);
    source->size = size;
    source->mapped = 2 * size;
    return r;
}

/* Rings come one by one; a ring that cannot be mapped is given up, and counted. false: it is tried again at the next refresh. */
static bool map_ring(struct pyusdt_session *session, struct pyusdt_target *target, uint32_t k)
{
    struct pyusdt_source *source = calloc(1, sizeof *source);
    int r = source ? map_ring_file(target, k, source) : -ENOMEM;

    if (r != 0 && is_retryable(session, target, "ring", r)) {
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
    source->published = source->done = source->position;
    source->kept = target->rundir->header.keep_ns != 0;
    source->shown = source->kept ? atomic_load(&source->line->read) : 0;
    source->safe = session->refreshed_at;
    return true;
}

void pyusdt_target_map_new(struct pyusdt_session *session, struct pyusdt_target *target)
{
    uint32_t rings;
    int r = 0;

    pyusdt_target_read_new_probes(session, target);
    pyusdt_target_read_remarks(session, target);
    if (!target->area && !target->area_refused &&
        atomic_load(&target->slot->ready) == target->rundir->header.generation)
        r = map_area(target);
    if (r != 0)
        target->area_refused = !is_retryable(session, target, "list of rings", r);
    if (!target->area) {
        pyusdt_target_warn_no_buffers(session, target);
        return;
    }
    rings = atomic_load(&target->area->rings);
    if (rings > target->rundir->header.max_rings)
        rings = target->rundir->header.max_rings;
    target->rings_refused = false;
    while (target->rings < rings && !target->rings_refused) {
        target->rings_refused = !map_ring(session, target, target->rings);
        target->rings += !target->rings_refused;
    }
    if (atomic_load_explicit(&target->area->error, memory_order_relaxed) != 0)
        pyusdt_target_warn_no_buffers(session, target);
}

void pyusdt_target_add_work(struct pyusdt_target *target)
{
    target->rundir->work +=
        PYUSDT_EVENT_WORK; /* a refresh of a process is about as much work as an event */
    for (uint32_t k = 0; k < target->rings; k++)
        if (target->source[k]) {
            target->rundir->work += target->source[k]->work;
            target->source[k]->work = 0;
        }
}

/* ---- its end ---- */

bool pyusdt_target_is_dead(struct pyusdt_target *target)
{
    struct pyusdt_identity seen = {target->pid, 0, target->who.starttime};
    uint64_t now;

    if (target->visible && !pyusdt_is_alive(&seen))
        return true;
    if (atomic_load(&target->ctl->state) != PYUSDT_CTL_EXITED)
        return false;
    now = pyusdt_now();
    if (target->exited_at == 0)
        target->exited_at = now;
    return now - target->exited_at > EXIT_GRACE_NS;
}

/* Whether another session still has something to read of the dead process. */
static bool is_read_by_others(const struct pyusdt_target *target)
{
    const struct pyusdt_ctl_slot *slots = target->slot - target->rundir->header.slot;

    for (uint32_t i = 0; i < PYUSDT_MAX_SESSIONS; i++) {
        uint64_t wanted = atomic_load(&slots[i].wanted);
        if (i != target->rundir->header.slot && wanted != 0 &&
            pyusdt_session_is_alive(target->rundir->in.dir, i, wanted))
            return true;
    }
    return false;
}

static void remove_files(struct pyusdt_target *target)
{
    char text[PYUSDT_NAME_SIZE];

    for (uint32_t k = 0; k < target->rundir->header.max_rings;
         k++) { /* one may be there that was never published */
        format_file_name(target, PYUSDT_FILE_RING, k, text);
        pyusdt_discard_file(target->rundir->in.dir, text, target->life == PYUSDT_ALIVE);
    }
    PYUSDT_HOOK(34);
    format_file_name(target, PYUSDT_FILE_AREA, 0, text);
    pyusdt_discard_file(target->rundir->in.dir, text, false);
    if (target->life == PYUSDT_DEAD && !is_read_by_others(target)) {
        format_file_name(target, PYUSDT_FILE_CTL, 0, text);
        pyusdt_discard_file(target->rundir->in.dir, text, false);
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
    pyusdt_target_copy_drops(session, target);
    target->rundir->nliving--;
    pyusdt_session_remove_target(session, target);
    orphans = has_orphans(session, target);
    session->norphaned += orphans;
    if (!orphans)
        pyusdt_target_detach(target);
    remove_files(target);
    for (uint32_t k = 0; k < target->rings; k++)
        if (target->source[k])
            pyusdt_source_leave_heap(target->source[k]);
    if (orphans)
        unmap_buffers(target);
    else
        unmap(target);
    target->life = PYUSDT_FINISHED;
    target->rundir->ns += pyusdt_thread_ns() - begun;
}

void pyusdt_target_unmap(struct pyusdt_target *target)
{
    for (uint32_t k = 0; k < target->rings; k++)
        if (target->source[k])
            pyusdt_source_close(target->source[k]);
    unmap(target);
    target->life = PYUSDT_FINISHED;
}

void pyusdt_target_free(struct pyusdt_target *target)
{
    if (!target)
        return;
    unmap(target);
    pyusdt_table_copy_release(target->table);
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
