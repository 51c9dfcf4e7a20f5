/*
 * The slow paths by which a target serves a session: joining it, building its demand table, opening
 * it, and cleaning up after a dead tracer.
 *
 * - The session file is untrusted. It is only read by pread(), in pieces.
 * - The area file and the rings are made in area.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/target.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "target/encode.h"
#include "target/spare_stack.h"

/* ---- reading a session file ---- */

struct session_file {
    int fd;
    unsigned slot;
    struct pyusdt_session_header header;
};

static bool is_valid_header(const struct pyusdt_session_header *header)
{
    return header->magic == PYUSDT_SESSION_MAGIC && header->version == PYUSDT_LAYOUT_VERSION &&
           header->state == PYUSDT_SESSION_STARTED && header->generation != 0 &&
           header->want_size == sizeof(struct pyusdt_want) && header->nwants <= PYUSDT_WANTS_MAX &&
           header->npaths <= PYUSDT_PATHS_MAX && header->bufsize >= PYUSDT_RING_MIN &&
           header->bufsize <= PYUSDT_RING_MAX && (header->bufsize & (header->bufsize - 1)) == 0 &&
           header->max_rings >= 1 && header->max_rings <= PYUSDT_RINGS_MAX;
}

static int open_session_file(int dir, unsigned number, struct session_file *file)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_SESSION, .slot = number};
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;

    pyusdt_name_format(&name, text);
    file->slot = number;
    file->fd = pyusdt_file_open(dir, text, O_RDONLY, &size);
    if (file->fd < 0)
        return file->fd;
    if (pread(file->fd, &file->header, sizeof file->header, 0) == (ssize_t)sizeof file->header &&
        is_valid_header(&file->header))
        return 0;
    close(file->fd);
    return -ENOENT;
}

/* A tracer that takes over the slot rewrites the file: the copy is valid if the generation is still
 * the same. */
static bool is_session_file_unchanged(const struct session_file *file)
{
    struct pyusdt_session_header now;
    return pread(file->fd, &now, sizeof now, 0) == (ssize_t)sizeof now &&
           now.generation == file->header.generation && now.state == PYUSDT_SESSION_STARTED;
}

/* Calls fn for each probe that is wanted, and before those of each want, if not NULL, begin. 0
 * or -errno. */
static int match_session_file_as(uint32_t pid, const struct session_file *file, pyusdt_match_fn *fn,
                                 void *arg,
                                 void (*begin)(void *arg, const struct pyusdt_want *want))
{
    struct pyusdt_probe_table table = pyusdt_core.table;
    struct pyusdt_want want;

    table.pid = pid;
    for (uint32_t i = 0; i < file->header.nwants; i++) {
        off_t at = (off_t)(sizeof file->header + (uint64_t)i * sizeof want);
        if (pread(file->fd, &want, sizeof want, at) != (ssize_t)sizeof want)
            return -EIO;
        want.provider[PYUSDT_GLOB_SIZE - 1] = want.module[PYUSDT_GLOB_SIZE - 1] = '\0';
        want.function[PYUSDT_GLOB_SIZE - 1] = want.name[PYUSDT_GLOB_SIZE - 1] = '\0';
        if (begin)
            begin(arg, &want);
        pyusdt_probe_table_match(&table, &want, fn, arg);
    }
    return is_session_file_unchanged(file) ? 0 : -EAGAIN;
}

/* The same for this process: demand uses the tracer's names. */
static int match_session_file(const struct session_file *file, pyusdt_match_fn *fn, void *arg,
                              void (*begin)(void *arg, const struct pyusdt_want *want))
{
    uint32_t known_as = atomic_load(&pyusdt_ctl_slot(file->slot)->pid);

    return match_session_file_as(known_as != 0 ? known_as : pyusdt_core.table.pid, file, fn, arg,
                                 begin);
}

/* ---- joining: the enable words ---- */

static int enable_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    (void)desc;
    atomic_fetch_or(&pyusdt_core.words[probe], 1ull << *(const unsigned *)arg);
    PYUSDT_HOOK(21);
    return 0;
}

static bool admits_this_process(const struct pyusdt_session_header *header)
{
    if (header->comm[0] && strncmp(header->comm, pyusdt_core.ctl->comm, sizeof header->comm) != 0)
        return false;
    if (header->flags & PYUSDT_SESSION_ALL)
        return true;
    for (unsigned i = 0; i < PYUSDT_PIDS_MAX; i++)
        if (header->pids[i] == pyusdt_core.identity.pid ||
            (header->flags & PYUSDT_SESSION_CHILDREN &&
             pyusdt_is_ancestor(pyusdt_core.ctl->ancestors, header->pids[i])))
            return true;
    return false;
}

static int mark_found(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    (void)probe, (void)desc;
    return *(uint32_t *)arg = 1;
}

/* Whether it wants events of forked children: probes of processes of any number. */
static uint32_t wants_children(const struct session_file *file)
{
    uint32_t wants = 0;

    if (file->header.flags & (PYUSDT_SESSION_ALL | PYUSDT_SESSION_CHILDREN))
        match_session_file_as(0, file, mark_found, &wants, NULL);
    return wants;
}

static int join_session(void *arg, const char *text, const struct pyusdt_name *name)
{
    int dir = *(const int *)arg;
    unsigned number = name->slot;
    uint64_t nobody = 0;
    struct session_file file;

    (void)text;
    if (name->kind != PYUSDT_FILE_SESSION || open_session_file(dir, number, &file) != 0)
        return 0;
    /* Without the flock: only if the session, or another in its place, has not attached us already.
 */
    if (admits_this_process(&file.header) &&
        pyusdt_session_is_alive(dir, number, file.header.generation) &&
        atomic_compare_exchange_strong(&pyusdt_ctl_slot(number)->wanted, &nobody,
                                       file.header.generation)) {
        PYUSDT_HOOK(20);
        atomic_store(&pyusdt_ctl_slot(number)->child_error, 0);
        atomic_store(&pyusdt_ctl_slot(number)->children, wants_children(&file));
        match_session_file(&file, enable_probe, &number, NULL);
    }
    close(file.fd);
    return 0;
}

int pyusdt_sessions_join(int dir)
{
    return pyusdt_rundir_each(dir, join_session, &dir);
}

/* ---- demand ---- */

struct demand_build {
    struct pyusdt_demand *demand;
    struct pyusdt_slot *of; /* NULL: the flight recorder's, which wants everything */
    const struct pyusdt_want *want;
    uint32_t first; /* the earlier ones stay */
    unsigned slot;  /* its number, unless it is the flight recorder's */
};

static void begin_want(void *arg, const struct pyusdt_want *want)
{
    ((struct demand_build *)arg)->want = want;
}

/* As many frames as the largest of its wants. Returns its part of the mask. */
static uint32_t add_stack_demand(struct pyusdt_demand *demand, uint32_t frames)
{
    if ((frames & ~PYUSDT_WANT_NATIVES) == 0)
        return 0;
    demand->natives |= (frames & PYUSDT_WANT_NATIVES) != 0;
    frames &= ~PYUSDT_WANT_NATIVES;
    frames = frames < PYUSDT_MAX_FRAMES ? frames : PYUSDT_MAX_FRAMES;
    if (demand->frames < frames)
        demand->frames = frames;
    return PYUSDT_DEMAND_STACK;
}

/* The arguments that are values by paths, behind the probe's own. */
static uint32_t wanted_paths(const struct demand_build *build, const struct pyusdt_ctl_desc *desc)
{
    if (!pyusdt_follows_paths || !build->of || desc->kind != PYUSDT_DESC_PLACES ||
        desc->nargs > PYUSDT_PATH_ARG)
        return 0;
    return build->want->args & pyusdt_paths_args(build->slot);
}

static int add_probe_demand(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    struct demand_build *build = arg;
    struct pyusdt_demand *demand = &build->demand[probe];
    uint32_t paths = wanted_paths(build, desc);
    uint32_t args = (build->want->args & ((1u << desc->nargs) - 1)) | paths;
    uint32_t strings = desc->strings | paths;
    uint32_t mask =
        atomic_load_explicit(&demand->mask, memory_order_relaxed) | args | PYUSDT_DEMAND_FIRE;

    if (probe < build->first)
        return 0;
    if (desc->kind == PYUSDT_DESC_PLACES && build->of) {
        pyusdt_patterns_add(&build->of->patterns, probe, build->want);
        if (build->want->counts && demand->row == 0)
            demand->row = pyusdt_counts_row(build->of, probe);
    }
    for (uint32_t i = 0; i < PYUSDT_MAX_ARGS; i++) {
        uint16_t bytes =
            build->want->bytes[i] < PYUSDT_MAX_STRING ? build->want->bytes[i] : PYUSDT_MAX_STRING;
        if (!(args & strings & 1u << i) || bytes == 0)
            continue;
        if (demand->bytes[i] == 0)
            demand->index[demand->ncaptures++] = (uint8_t)i;
        if (demand->bytes[i] < bytes)
            demand->bytes[i] = bytes;
    }
    mask |= add_stack_demand(demand, build->want->frames);
    demand->nargs = (uint8_t)pyusdt_args_count(PYUSDT_EVENT_ARGS(mask));
    demand->max_size = pyusdt_event_max_size(demand);
    atomic_store_explicit(
        &demand->mask, mask,
        memory_order_release); /* last: a reader that sees it uses the sizes in the other fields */
    return 0;
}

/* The session's paths, which stand behind its wants. */
static int read_paths(const struct session_file *file)
{
    struct pyusdt_path paths[PYUSDT_PATHS_MAX];
    size_t size = file->header.npaths * sizeof *paths;
    off_t at =
        (off_t)(sizeof file->header + (uint64_t)file->header.nwants * sizeof(struct pyusdt_want));

    if (size != 0 && pread(file->fd, paths, size, at) != (ssize_t)size)
        return -EIO;
    for (uint32_t i = 0; i < file->header.npaths; i++)
        if (paths[i].size > sizeof paths[i].bytes)
            return -EINVAL;
    pyusdt_paths_set(file->slot, file->header.generation, paths, file->header.npaths);
    return 0;
}

static int make_demand(struct pyusdt_slot *slot, const struct session_file *file)
{
    struct demand_build build = {
        .demand = atomic_load(&slot->demand), .of = slot, .slot = file->slot};
    int r = read_paths(file);
    size_t size = PYUSDT_MAX_PROBES *
                  sizeof(struct pyusdt_demand); /* as long as it can become; used as far as it is */

    if (r != 0)
        return r;
    if (!build.demand) {
        void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return -ENOMEM;
        build.demand = memory;
        atomic_store(&slot->demand, build.demand);
    }
    for (uint32_t i = 0; i < pyusdt_core.table.nprobes;
         i++) { /* pyusdt_demand() may read the masks at any time */
        atomic_store_explicit(&build.demand[i].mask, 0, memory_order_relaxed);
        atomic_store_explicit(&build.demand[i].row, 0, memory_order_relaxed);
        build.demand[i].nargs = build.demand[i].ncaptures = 0;
        build.demand[i].frames = 0;
        build.demand[i].natives = false;
        memset(build.demand[i].bytes, 0, sizeof build.demand[i].bytes);
    }
    slot->patterns.n = 0;
    slot->patterns.all = false;
    pyusdt_counts_begin(slot);
    return match_session_file(file, add_probe_demand, &build, begin_want);
}

void pyusdt_demand_everything(struct pyusdt_demand *demand, uint32_t first, uint32_t frames)
{
    struct pyusdt_want want = {.args = (1u << PYUSDT_MAX_ARGS) - 1, .frames = frames};
    struct demand_build build = {.demand = demand, .want = &want, .first = first};

    for (unsigned i = 0; i < PYUSDT_MAX_ARGS; i++)
        want.bytes[i] = PYUSDT_MAX_STRING;
    pyusdt_probe_table_match(&pyusdt_core.table, &want, add_probe_demand, &build);
}

static int enable_new_probe(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc)
{
    struct demand_build *build = arg;
    return probe < build->first ? 0 : enable_probe(&build->slot, probe, desc);
}

/* Under the lock, so no session is opened or closed meanwhile. A new session reads the whole table.
 */
void pyusdt_sessions_add_probes(uint32_t first)
{
    int dir = pyusdt_rundir_open(pyusdt_core.rundir, NULL);

    for (unsigned number = 0; dir >= 0 && number < PYUSDT_MAX_SESSIONS; number++) {
        struct pyusdt_slot *slot = &pyusdt_core.slot[number];
        uint64_t wanted = atomic_load(&pyusdt_ctl_slot(number)->wanted);
        struct demand_build build = {.first = first, .slot = number, .of = slot};
        struct session_file file;

        if (wanted == 0 || open_session_file(dir, number, &file) != 0)
            continue;
        build.demand = atomic_load(&slot->demand);
        if (file.header.generation == wanted && pyusdt_session_is_alive(dir, number, wanted) &&
            (slot->opened != wanted ||
             match_session_file(&file, add_probe_demand, &build, begin_want) == 0))
            match_session_file(&file, enable_new_probe, &build, begin_want); /* the bits last */
        if (slot->opened == wanted)
            pyusdt_counts_announce(slot);
        close(file.fd);
    }
    if (dir >= 0)
        close(dir);
    pyusdt_places_changed();
}

/* ---- undoing ---- */

/* Holds every ring for ever, so that no thread is inside now or later. false: a thread is inside.
 */
static bool lock_rings_for_good(struct pyusdt_slot *slot)
{
    struct pyusdt_area *area = atomic_load(&slot->area);
    uint32_t n = atomic_load(&slot->nrings), held = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t none = 0;
        held += atomic_compare_exchange_strong(&area->line[k].busy, &none, PYUSDT_RING_CLOSED) ||
                none == PYUSDT_RING_CLOSED ||
                pyusdt_ring_take_over(&area->line[k], PYUSDT_RING_CLOSED);
    }
    return held == n;
}

/* Returns the rings' addresses to the system and, if no tracer reads them any more, their memory.
 * false: a thread is still inside a ring, and checks again when it leaves. */
static bool unmap_rings(struct pyusdt_slot *slot, bool discard)
{
    atomic_store(&slot->generation, 0);
    if (!lock_rings_for_good(slot)) {
        atomic_store(&slot->next_check, 0);
        return false;
    }
    for (uint32_t k = 0; k < PYUSDT_RINGS_MAX; k++) {
        if (discard && slot->ring[k].data) /* a forked child may have it mapped, too */
            pyusdt_os_discard(slot->ring[k].data, slot->ring[k].reserved);
        pyusdt_area_unmap_ring(&slot->ring[k]);
    }
    return true;
}

/* The slot's last session has ended: returns its rings' memory and addresses to the system, and
 * removes its files. The area's addresses stay for the next session. false: a thread is still
 * inside a ring; it is called again. Under the lock. */
static bool close_slot(struct pyusdt_slot *slot, int dir, unsigned number)
{
    char text[PYUSDT_NAME_SIZE];
    uint32_t n = atomic_load(&slot->nrings);

    if (slot->opened == 0)
        return true;
    if (!unmap_rings(slot, true))
        return false;
    for (uint32_t k = 0; k < n; k++) {
        pyusdt_area_format_name(number, slot->opened, PYUSDT_FILE_RING, k, text);
        pyusdt_rundir_unlink(dir, text);
    }
    pyusdt_counts_discard(slot);
    pyusdt_area_format_name(number, slot->opened, PYUSDT_FILE_AREA, 0, text);
    pyusdt_rundir_unlink(dir, text);
    atomic_store(&slot->nrings, 0);
    slot->opened = 0;
    pyusdt_places_changed();
    return true;
}

/* The files keep their contents for the session to read: this process uses others. */
bool pyusdt_slot_close_rings(struct pyusdt_slot *slot)
{
    if (slot->opened == 0)
        return true;
    if (!unmap_rings(slot, false))
        return false;
    atomic_store(&slot->nrings, 0);
    slot->opened = 0;
    return true;
}

/* The tracer is dead (0: there is none): nothing is wanted any more. Under the lock. */
static int undo_session(int dir, unsigned number, uint64_t generation)
{
    struct pyusdt_enable_bits bits = {pyusdt_ctl_slot(number), pyusdt_core.words,
                                      pyusdt_core.table.nprobes, number};
    return pyusdt_enable_bits_undo(&bits, dir, generation);
}

static void check_tracer(void *arg)
{
    struct pyusdt_slot *slot = arg;
    unsigned number = (unsigned)(slot - pyusdt_core.slot);
    int dir = pyusdt_core_open_rundir();

    if (dir >= 0 && slot->opened != 0 && !pyusdt_session_is_alive(dir, number, slot->opened)) {
        undo_session(dir, number, slot->opened);
        close_slot(slot, dir, number);
    }
    if (dir >= 0)
        close(dir);
}

/* Called by producers when next_check is past. One of them does the work, the others continue. */
void pyusdt_slot_check_tracer(unsigned number, uint64_t now)
{
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    uint64_t due = atomic_load(&slot->next_check);

    if (now >= due &&
        atomic_compare_exchange_strong(&slot->next_check, &due, now + PYUSDT_CHECK_NS))
        pyusdt_spare_stack_call_locked(true, check_tracer, slot);
}

/* If nothing fires, no producer finds that out. */
void pyusdt_sessions_check_tracers(void)
{
    int dir = -1;

    if (!pyusdt_core_lock(false))
        return;
    for (unsigned number = 0; number < PYUSDT_MAX_SESSIONS; number++) {
        uint64_t wanted = atomic_load(&pyusdt_ctl_slot(number)->wanted);
        uint64_t opened = pyusdt_core.slot[number].opened;
        if ((wanted == 0 && opened == 0) || (dir < 0 && (dir = pyusdt_core_open_rundir()) < 0) ||
            pyusdt_session_is_alive(dir, number, wanted != 0 ? wanted : opened))
            continue;
        undo_session(dir, number, wanted);
        if (wanted == 0 || opened == wanted)
            close_slot(&pyusdt_core.slot[number], dir, number);
    }
    if (dir >= 0)
        close(dir);
    pyusdt_core_unlock();
}

/* ---- opening ---- */

static int open_session(struct pyusdt_slot *slot, int dir, unsigned number, uint64_t wanted)
{
    struct session_file file;
    int r = open_session_file(dir, number, &file);

    if (r != 0 || file.header.generation != wanted ||
        !pyusdt_session_is_alive(dir, number, wanted)) {
        if (r == 0)
            close(file.fd);
        if (r == -EMFILE || r == -ENFILE || r == -EACCES)
            return r;
        return undo_session(dir, number, wanted);
    }
    slot->opened = wanted;
    slot->size = file.header.bufsize;
    slot->room = file.header.keep_bytes;
    pyusdt_head_room_recheck();
    slot->barrier = (file.header.flags & PYUSDT_SESSION_BARRIER) &&
                    pyusdt_os_is_single_threaded() && pyusdt_os_barrier_join();
    atomic_store(&slot->max_rings, file.header.max_rings);
    r = make_demand(slot, &file);
    if (r == 0)
        r = pyusdt_area_make(slot, dir, number, &file.header);
    if (r == 0)
        r = pyusdt_area_make_ring(slot, dir, number, wanted, 0);
    if (r == 0) {
        struct pyusdt_ctl_slot *shared = pyusdt_ctl_slot(number);
        atomic_store(&slot->next_check, pyusdt_now() + PYUSDT_CHECK_NS);
        atomic_store(&shared->state, PYUSDT_SLOT_READY);
        PYUSDT_HOOK(25);
        atomic_store(&shared->ready, wanted); /* the tracer may look up the area file */
        atomic_store(&slot->generation, wanted);
        pyusdt_places_changed();
    } else {
        close_slot(slot, dir, number);
    }
    close(file.fd);
    return r;
}

/* The part of slot_open() under the lock. */
static int serve_session(struct pyusdt_slot *slot, unsigned number, uint64_t wanted)
{
    int dir = pyusdt_core_open_rundir(), r;

    if (dir < 0)
        return dir;
    if (wanted == 0) {
        r = undo_session(
            dir, number,
            0); /* a stray bit: it was set when its session was dead already, or pyusdt_let_go() */
        if (r == 0)
            close_slot(slot, dir, number);
        else
            unmap_rings(slot, false); /* the session still reads them */
    } else
        r = close_slot(slot, dir, number) ? open_session(slot, dir, number, wanted) : -EBUSY;
    close(dir);
    return r;
}

struct opening {
    unsigned number;
    bool open;
};

static void open_slot_locked(void *arg)
{
    struct opening *opening = arg;
    unsigned number = opening->number;
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    struct pyusdt_ctl_slot *shared = pyusdt_ctl_slot(number);
    uint64_t wanted = atomic_load(&shared->wanted), now = pyusdt_now();
    int r;

    if (wanted == 0 || wanted != atomic_load(&slot->generation)) {
        r = serve_session(slot, number, wanted);
        if (r != 0 && wanted != 0) {
            atomic_store(&shared->error, r);
            atomic_store(&shared->state, PYUSDT_SLOT_FAILED);
        }
        if (r != -EBUSY && (r != 0 || wanted == 0)) {
            atomic_store(&slot->refused, wanted);
            atomic_store(&slot->retry_at, now + PYUSDT_CHECK_NS);
        }
    }
    opening->open = wanted != 0 && wanted == atomic_load(&slot->generation);
}

bool pyusdt_slot_open(unsigned number)
{
    const struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    struct opening opening = {number, false};

    if (atomic_load(&pyusdt_ctl_slot(number)->wanted) == atomic_load(&slot->refused) &&
        pyusdt_now() < atomic_load(&slot->retry_at))
        return false;
    pyusdt_spare_stack_call_locked(true, open_slot_locked, &opening);
    return opening.open;
}

void pyusdt_let_go(void)
{
    for (unsigned number = 0; pyusdt_core.ctl && number < PYUSDT_MAX_SESSIONS; number++) {
        struct pyusdt_slot *slot = &pyusdt_core.slot[number];
        if (slot->opened == 0 || atomic_load(&pyusdt_ctl_slot(number)->wanted) != 0)
            continue;
        atomic_store(&slot->retry_at, 0); /* the session has just ended: now it is possible */
        pyusdt_slot_open(number);
    }
}

unsigned pyusdt_count_sessions(void)
{
    unsigned n = 0;

    for (unsigned number = 0; pyusdt_core.ctl && number < PYUSDT_MAX_SESSIONS; number++)
        n += atomic_load(&pyusdt_ctl_slot(number)->wanted) != 0;
    return n;
}

void pyusdt_slot_count_drop(unsigned number, uint64_t wanted)
{
    struct pyusdt_ctl_slot *shared = pyusdt_ctl_slot(number);
    uint64_t tag = PYUSDT_FAILED_TAG(wanted), old = atomic_load(&shared->failed), new;

    if (wanted == 0 || atomic_load(&shared->wanted) != wanted)
        return; /* no session to notify */
    do
        new = PYUSDT_FAILED_TAG(old) == tag ? old + 1 : tag | 1;
    while (!atomic_compare_exchange_weak(&shared->failed, &old, new));
}
