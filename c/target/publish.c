/*
 * Publishes this process: makes the control file, and handles fork. See docs/internals/ring.md; the
 * public functions are in pyusdt.h.
 *
 * - pyusdt_enabled_words always points to readable words: the published ones, zeros before that,
 *   and ones in a forked child until it has published itself at its first firing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "generated/build.h"
#include "target/target.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "target/ancestry.h"
#include "target/spare_stack.h"

#define INSTANCES_MAX 64
#define REMOVALS_MAX 64

static uint64_t no_words[PYUSDT_MAX_PROBES]; /* never written: costs no memory */
/* filled only when they are needed, for the existing probes */
static uint64_t all_words[PYUSDT_MAX_PROBES];

uint64_t *pyusdt_enabled_words = no_words;
struct pyusdt_core pyusdt_core;

/* ---- the lock of the slow paths ---- */

/* Waits a little for another thread, but not for the thread that it interrupted as a signal
 * handler. pthread_cancel() waits until the lock is released, too: nearly everything that is done
 * under the lock is a cancellation point. */
bool pyusdt_core_lock(bool firing)
{
    const struct timespec pause = {0, 100000};
    bool is_contended = firing && pyusdt_now() < atomic_load(&pyusdt_core.contended_until);
    uint32_t tid = pyusdt_self_tid(), holder = 0;
    int cancel;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    for (int i = 0; i < PYUSDT_LOCK_TRIES; i++) {
        holder = 0;
        if (atomic_compare_exchange_strong(&pyusdt_core.family->lock, &holder, tid)) {
            pyusdt_core.cancel = cancel;
            return true;
        }
        if (holder == tid || is_contended)
            break;
        nanosleep(&pause, NULL);
    }
    if (firing && holder != tid &&
        !is_contended) /* a thread that held the lock for that long may hold it longer */
        atomic_store(&pyusdt_core.contended_until, pyusdt_now() + PYUSDT_CONTENDED_NS);
    pthread_setcancelstate(cancel, NULL);
    return false;
}

void pyusdt_core_unlock(void)
{
    int cancel = pyusdt_core.cancel;

    atomic_store(&pyusdt_core.family->lock, 0);
    pthread_setcancelstate(cancel, NULL);
}

/* Every probe is on: for a forked child, which does not know better yet, and for the flight
 * recorder. */
static void enable_all(uint32_t nprobes)
{
    memset(all_words, 0xff, nprobes * sizeof *all_words);
    __atomic_store_n(&pyusdt_enabled_words, all_words, __ATOMIC_RELEASE);
}

/* ---- the control file ---- */

void pyusdt_ctl_fill(struct pyusdt_ctl_header *ctl)
{
    pyusdt_os_program_name(ctl->comm, sizeof ctl->comm);
    ctl->version = PYUSDT_LAYOUT_VERSION;
    snprintf(ctl->build, sizeof ctl->build, "%s", PYUSDT_BUILD);
    ctl->size = PYUSDT_CTL_SIZE;
    ctl->pid = pyusdt_core.identity.pid;
    ctl->instance = pyusdt_core.identity.instance;
    ctl->starttime = pyusdt_core.identity.starttime;
    ctl->pidns = pyusdt_os_pidns();
    ctl->gid = (uint32_t)getegid();
    ctl->slots = PYUSDT_CTL_SLOTS;
    ctl->words = PYUSDT_CTL_WORDS;
    ctl->descs = PYUSDT_CTL_DESCS;
    ctl->strings = PYUSDT_CTL_STRINGS;
    pyusdt_ancestry_copy(ctl->ancestors);
    pyusdt_target_table_copy_to(ctl);
    pyusdt_places_copy_to(ctl);
    atomic_store(&ctl->state, PYUSDT_CTL_LIVE);
}

/* A file that this process's former program (exec) or a dead namesake left has the name: the
 * next instance then. */
static int make_control_file(int dir)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL};
    char text[PYUSDT_NAME_SIZE];
    int r, fd = -EEXIST;

    pyusdt_core.identity.pid = (uint32_t)getpid();
    pyusdt_read_starttime(0, &pyusdt_core.identity.starttime);
    for (uint32_t i = 0; fd == -EEXIST && i < INSTANCES_MAX; i++) {
        name.process = pyusdt_core.identity;
        name.process.instance = pyusdt_core.identity.instance = i;
        pyusdt_name_format(&name, text);
        fd = pyusdt_file_make(dir, text, PYUSDT_CTL_WORDS);
    }
    if (fd < 0)
        return fd;
    r = pyusdt_os_resize(fd, PYUSDT_CTL_SIZE);
    if (r == 0)
        r = pyusdt_target_table_allocate(fd);
    if (r == 0)
        r = pyusdt_places_allocate(fd);
    if (r == 0)
        return fd;
    pyusdt_rundir_unlink(dir, text);
    close(fd);
    return r;
}

/* Removes control files of dead processes, so that they do not accumulate on a machine where nobody
 * traces. Files with rings stay. */
struct dead_files {
    int dir;
    int budget;
};

/* Its stack is free again while other functions of a removal need some. */
static __attribute__((noinline)) bool may_remove(int fd)
{
    struct pyusdt_ctl_header header;
    struct pyusdt_ctl_slot slot;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || header.magic == 0)
        return true; /* died while it made it */
    if (header.version != PYUSDT_LAYOUT_VERSION || header.pidns != pyusdt_os_pidns())
        return false; /* another layout's to remove; dead only as far as we can see */
    for (unsigned i = 0; i < PYUSDT_MAX_SESSIONS; i++) {
        off_t at = (off_t)(header.slots + (uint64_t)i * sizeof slot);
        if (pread(fd, &slot, sizeof slot, at) != (ssize_t)sizeof slot || slot.ready != 0 ||
            (slot.wanted != 0 && slot.failed != 0))
            return false;
    }
    return true;
}

static int remove_dead_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct dead_files *state = arg;
    uint64_t size;
    int fd;

    if (name->kind != PYUSDT_FILE_CTL || pyusdt_is_alive(&name->process))
        return 0;
    fd = pyusdt_file_open(state->dir, text, O_RDONLY, &size);
    if (fd >= 0) {
        if (!pyusdt_ctl_is_being_made(fd) && may_remove(fd))
            pyusdt_rundir_unlink(state->dir, text);
        close(fd);
    }
    return --state->budget <= 0;
}

/* ---- publishing ---- */

static int map_control_file(int dir)
{
    int fd = make_control_file(dir);
    struct pyusdt_ctl_header *ctl;

    if (fd < 0)
        return fd;
    /* Published before: in the same place, which other threads may still read. */
    ctl = pyusdt_guard_map(pyusdt_core.ctl, PYUSDT_CTL_SIZE, PROT_READ | PROT_WRITE, fd);
    close(fd);
    if (!ctl)
        return -ENOMEM;
    pyusdt_ctl_fill(ctl);
    pyusdt_core.ctl = ctl;
    pyusdt_core.slots = (void *)((char *)ctl + ctl->slots);
    pyusdt_core.words = (void *)((char *)ctl + ctl->words);
    pyusdt_core.table.pid = ctl->pid;
    return 0;
}

/* Under the lock. */
static int publish_process(void)
{
    struct dead_files dead_files = {.budget = REMOVALS_MAX};
    int dir, r = pyusdt_rundir_make(pyusdt_core.rundir, sizeof pyusdt_core.rundir, NULL);

    dir = r != 0 ? r : pyusdt_rundir_open(pyusdt_core.rundir, NULL);
    if (dir < 0) {
        pyusdt_core.flight_error = pyusdt_flight_is_wanted() ? dir : 0;
        return dir;
    }
    dead_files.dir = dir;
    pyusdt_rundir_each(dir, remove_dead_file, &dead_files);
    r = map_control_file(dir);
    if (r == 0) {
        pyusdt_core.uid = (uint32_t)geteuid();
        PYUSDT_HOOK(10);
        atomic_store(&pyusdt_core.ctl->magic, PYUSDT_CTL_MAGIC);
        PYUSDT_HOOK(11);
        /* Tracers that start from here on see us. Those that started before, we see: */
        atomic_thread_fence(memory_order_seq_cst);
        pyusdt_sessions_join(dir);
        pyusdt_core.flight_error = pyusdt_flight_start(dir);
        atomic_store(&pyusdt_core.family->alive, 1);
        atomic_store_explicit(&pyusdt_core.nprobes, pyusdt_core.table.nprobes,
                              memory_order_release);
        if (pyusdt_core.flight)
            enable_all(pyusdt_core.table.nprobes);
        else
            __atomic_store_n(&pyusdt_enabled_words, (uint64_t *)(void *)pyusdt_core.words,
                             __ATOMIC_RELEASE);
        pyusdt_places_changed();
    }
    close(dir);
    return r;
}

/* ---- forks ---- */

/* Runs in the parent before fork(), because the parent may have ended when the child runs. */
static void count_fork(void)
{
    if (atomic_load(&pyusdt_core.nprobes) != 0)
        atomic_fetch_add(&pyusdt_core.ctl->forked, 1);
}

/* Runs in the child of fork(). Cheap, since most children exec immediately: publishing waits for
 * the first firing. */
static void after_fork_in_child(void)
{
    uint32_t n = atomic_load(&pyusdt_core.nprobes);

    atomic_store(&pyusdt_core.family->alive, 0); /* if the kernel does not wipe pages */
    atomic_store(&pyusdt_core.family->lock, 0);
    atomic_store(&pyusdt_core.family->republish_at, 0);
    pyusdt_core.epoch++;
    pyusdt_ancestry_fork();
    if (n != 0)
        enable_all(n);
    pyusdt_watcher_after_fork();
    pyusdt_places_changed();
}

/* None of the parent's sessions, rings and files is the child's. */
static void forget_parent(void)
{
    for (unsigned i = 0; i < PYUSDT_MAX_SESSIONS; i++) {
        struct pyusdt_slot *slot = &pyusdt_core.slot[i];
        struct pyusdt_demand *demand = atomic_load(&slot->demand);
        struct pyusdt_patterns patterns = slot->patterns;
        struct pyusdt_counting counting = slot->counting;
        if (!demand)
            continue; /* never used */
        if (atomic_load(&slot->area))
            pyusdt_guard_unmap(atomic_load(&slot->area), slot->area_reserved);
        for (unsigned k = 0; k < PYUSDT_RINGS_MAX; k++)
            pyusdt_area_unmap_ring(&slot->ring[k]);
        memset(slot, 0, sizeof *slot);
        slot->patterns = patterns; /* for their memory */
        slot->counting = counting; /* and the parts of it to forget */
        atomic_store(&slot->demand, demand);
    }
    pyusdt_flight_close();
}

/* The child's control file replaces the parent's. If it cannot be made (no descriptors, no space, a
 * limit), the child uses its parent's demand, and counts its firings there. */
static void publish_child(void)
{
    pyusdt_core.child_error = publish_process();
    if (pyusdt_core.child_error == 0)
        return;
    atomic_store(&pyusdt_core.family->republish_at, pyusdt_now() + PYUSDT_CHECK_NS);
    __atomic_store_n(&pyusdt_enabled_words, (uint64_t *)(void *)pyusdt_core.words,
                     __ATOMIC_RELEASE);
}

static void publish_forked_locked(void *first)
{
    if (atomic_load(&pyusdt_core.family->alive))
        return;
    if (*(bool *)first) {
        pyusdt_core.epoch++;
        enable_all(
            atomic_load(&pyusdt_core.nprobes)); /* the child's other threads wait for us here */
        forget_parent();
    }
    publish_child();
}

void pyusdt_core_publish_child(void)
{
    uint64_t again = atomic_load(&pyusdt_core.family->republish_at);
    bool first = again == 0;

    if (first || pyusdt_now() >= again)
        pyusdt_spare_stack_call_locked(false, publish_forked_locked, &first);
}

/* One of these sessions that wants the probe, of its parent and of its children: its slot; -1: none
 * is left. */
static int next_parent_session(unsigned probe, uint64_t *sessions)
{
    if (!pyusdt_core.family || probe >= atomic_load(&pyusdt_core.nprobes) ||
        atomic_load(&pyusdt_core.family->alive) || pyusdt_core.child_error == 0)
        return -1;
    for (uint64_t word = atomic_load(&pyusdt_core.words[probe]) & *sessions; word != 0;
         word &= word - 1) {
        int number = __builtin_ctzll(word);
        const struct pyusdt_ctl_slot *slot = &pyusdt_core.slots[number];
        *sessions &= ~(1ull << number);
        if (number < PYUSDT_MAX_SESSIONS && atomic_load(&slot->wanted) != 0 &&
            atomic_load(&slot->children) != 0)
            return number;
    }
    return -1;
}

uint32_t pyusdt_child_demand(unsigned probe, uint64_t sessions)
{
    return next_parent_session(probe, &sessions) >= 0 ? PYUSDT_DEMAND_FIRE : 0;
}

void pyusdt_child_count_drop(unsigned probe, uint64_t sessions)
{
    for (int number; (number = next_parent_session(probe, &sessions)) >= 0;) {
        struct pyusdt_ctl_slot *slot = &pyusdt_core.slots[number];
        atomic_store(&slot->child_error, pyusdt_core.child_error);
        pyusdt_slot_count_drop((unsigned)number, atomic_load(&slot->wanted));
    }
}

/* ---- another user ---- */

/* Sessions read their files of a former control file to the end. False: a thread is firing into one
 * at this moment. */
static bool close_all_rings(void)
{
    for (unsigned i = 0; i < PYUSDT_MAX_SESSIONS; i++)
        if (!pyusdt_slot_close_rings(&pyusdt_core.slot[i]))
            return false;
    return true;
}

/* Under the lock. The sessions of the new place are joined. */
static int republish(void)
{
    char path[PYUSDT_PATH_SIZE], old[PYUSDT_PATH_SIZE];
    struct pyusdt_identity before = pyusdt_core.identity;
    int r = pyusdt_rundir_make(path, sizeof path, NULL);

    if (r != 0 || strcmp(path, pyusdt_core.rundir) == 0)
        return r ? r : -EPERM;
    if (!close_all_rings())
        return -EBUSY;
    memcpy(old, pyusdt_core.rundir, sizeof old);
    atomic_store(&pyusdt_core.ctl->state, PYUSDT_CTL_EXITED);
    PYUSDT_HOOK(15);
    r = publish_process();
    if (r != 0) {
        memcpy(pyusdt_core.rundir, old, sizeof old);
        pyusdt_core.identity = before;
        atomic_store(&pyusdt_core.ctl->state, PYUSDT_CTL_LIVE);
    }
    return r;
}

static void republish_locked(void *moved)
{
    if ((uint32_t)geteuid() != pyusdt_core.uid) {
        pyusdt_core.check_user_at = pyusdt_now() + PYUSDT_CHECK_NS;
        *(bool *)moved = republish() == 0;
    }
}

bool pyusdt_core_republish_as_user(void)
{
    bool moved = false;

    if (pyusdt_now() >= pyusdt_core.check_user_at && (uint32_t)geteuid() != pyusdt_core.uid)
        pyusdt_spare_stack_call_locked(true, republish_locked, &moved);
    return moved;
}

/* ---- the public functions ---- */

static int prepared; /* 0 or -errno */

static void prepare_process_once(void)
{
    void *family = mmap(NULL, sizeof(struct pyusdt_family), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (family == MAP_FAILED) {
        prepared = -ENOMEM;
        return;
    }
    pyusdt_os_wipe_on_fork(
        family, sizeof(struct pyusdt_family)); /* otherwise only forked() detects a child */
    pyusdt_core.has_key = pthread_key_create(&pyusdt_core.key, NULL) == 0;
    pyusdt_core.has_native_key = pthread_key_create(&pyusdt_core.native_key, NULL) == 0;
    pyusdt_core.family = family;
    prepared = pyusdt_spare_stacks_prepare();
    if (prepared == 0)
        prepared = -pthread_atfork(count_fork, NULL, after_fork_in_child);
}

/* Several interpreters, each with a GIL of its own, may load the extension at the same time. */
static int prepare_process(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, prepare_process_once);
    return prepared;
}

int pyusdt_publish(const struct pyusdt_probe_desc *table, unsigned n)
{
    int r = prepare_process();

    if (r != 0)
        return r;
    if (!pyusdt_core_lock(false))
        return -EBUSY;
    if (atomic_load(&pyusdt_core.nprobes) != 0)
        r = -EALREADY;
    else
        r = close_all_rings() ? pyusdt_target_table_set(table, n) : -EBUSY;
    if (r == 0)
        pyusdt_core.publish_error = r = publish_process();
    pyusdt_core_unlock();
    return r;
}

int pyusdt_publish_more(const struct pyusdt_probe_desc *table, unsigned n)
{
    uint32_t first = atomic_load(&pyusdt_core.nprobes);
    int r;

    if (!pyusdt_core.family || first == 0)
        return pyusdt_core.publish_error ? pyusdt_core.publish_error : -ENOTCONN;
    if (!atomic_load(&pyusdt_core.family->alive))
        pyusdt_core_publish_child(); /* a forked child's first act */
    if (!pyusdt_core_lock(false))
        return -EBUSY;
    first = pyusdt_core.table.nprobes;
    r = -ENOTCONN;
    if (atomic_load(&pyusdt_core.nprobes) != 0 && atomic_load(&pyusdt_core.family->alive))
        r = pyusdt_target_table_grow(table, n);
    if (r == 0)
        atomic_store_explicit(&pyusdt_core.nprobes, pyusdt_core.table.nprobes,
                              memory_order_release);
    if (r == 0 && pyusdt_core.flight)
        enable_all(pyusdt_core.table.nprobes);
    pyusdt_core_unlock();
    return r == 0 ? (int)first : r;
}

/* Whether a session has to check what forked children count here. */
static bool has_children(const struct pyusdt_ctl_slot *slot)
{
    return atomic_load(&slot->children) != 0 && atomic_load(&pyusdt_core.ctl->forked) != 0;
}

/* The mapping stays: other threads may be inside a firing. */
void pyusdt_unpublish(void)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .process = pyusdt_core.identity};
    bool was = pyusdt_core.family && atomic_load(&pyusdt_core.nprobes) != 0, read = false;
    char text[PYUSDT_NAME_SIZE];
    int dir;

    __atomic_store_n(&pyusdt_enabled_words, no_words, __ATOMIC_RELEASE);
    if (!was)
        return;
    atomic_store(&pyusdt_core.nprobes, 0);
    if (!atomic_load(&pyusdt_core.family->alive))
        return; /* a forked child that fired nothing: the file is its parent's */
    for (unsigned i = 0; i < PYUSDT_MAX_SESSIONS; i++) {
        uint64_t wanted = atomic_load(&pyusdt_core.slots[i].wanted);
        read |= wanted != 0 && (wanted == atomic_load(&pyusdt_core.slots[i].ready) ||
                                has_children(&pyusdt_core.slots[i]) ||
                                PYUSDT_FAILED_TAG(atomic_load(&pyusdt_core.slots[i].failed)) ==
                                    PYUSDT_FAILED_TAG(wanted));
    }
    atomic_store(&pyusdt_core.ctl->state, PYUSDT_CTL_EXITED);
    if (pyusdt_core.flight)
        atomic_store(&pyusdt_core.flight->state, PYUSDT_CTL_EXITED);
    PYUSDT_HOOK(12);
    dir = read ? -1 : pyusdt_rundir_open(pyusdt_core.rundir, NULL);
    if (dir < 0)
        return; /* the reader of the rings removes the files */
    pyusdt_name_format(&name, text);
    pyusdt_rundir_unlink(dir, text);
    close(dir);
}

__attribute__((destructor)) static void at_exit(void)
{
    pyusdt_watcher_end();
    pyusdt_unpublish();
}
