/*
 * The watcher: the thread by which a process learns that a tracer wants its probes, before it has
 * fired anything.
 *
 * It implements pyusdt_watch_start() and pyusdt_watch_stop() of pyusdt.h.
 *
 * - The thread exists only while something is watched.
 * - It reads the wakeup word before everything else, so a wakeup in between is not missed.
 * - A change without a wakeup (a tracer that was killed before it sent one) is found at the next
 *   check.
 * - Checks are at least CHECK_INTERVAL_NS apart, however often tracers wake it.
 * - The thread has only the rights of its user. docs/reference/security.md, "The watcher", explains why it is
 *   a thread, and what risk remains.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "shared/wakeup.h"
#include "target/target.h"
#include "shared/os.h"

#ifndef PYUSDT_WATCH_MS      /* a test sets it to infinity, so that only a wakeup ends it */
#define PYUSDT_WATCH_MS 200u /* the longest time between two checks */
#endif
#define CHECK_INTERVAL_NS 10000000u /* and the shortest */
#define TRACER_CHECK_NS 1000000000u /* how often the sessions' tracers are checked */
#define END_TRIES \
    100 /* of 1 ms: how long the end of the process waits for a thread that may never continue */

static struct {
    pthread_mutex_t starting; /* one start or stop at a time */
    pthread_mutex_t lock;     /* of the following check */
    pthread_cond_t returned;
    struct pyusdt_watch *first;
    const struct pyusdt_watch *calling; /* its `changed` runs */
    void (*at_end)(void);               /* of the watch that has `ended` */
    pthread_t thread;
    bool runs, stops, ended;
    pid_t owner; /* of all this: a child that was made without fork() has it, too */
} watcher = {.starting = PTHREAD_MUTEX_INITIALIZER,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .returned = PTHREAD_COND_INITIALIZER};

/* ---- looking ---- */

static uint64_t mix_hash(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
    return sum ^ sum >> 32;
}

/* A number for everything that decides who wants these probes: for each probe the sessions' bits
 * and the USDT tracers, and which sessions these are. */
static uint64_t hash_demand(const struct pyusdt_watch *watch)
{
    uint32_t nprobes = atomic_load(&pyusdt_core.nprobes);
    uint64_t sum = pyusdt_core.flight != NULL ? 1 : 2, sessions = 0;

    for (unsigned i = 0; i < watch->n; i++) {
        unsigned probe = watch->sites ? watch->sites[i].index : watch->first + i;
        uint64_t word = probe < nprobes
                            ? atomic_load_explicit(&pyusdt_core.words[probe], memory_order_acquire)
                            : 0;
        sessions |= word;
        sum = mix_hash(sum, word);
        if (watch->sites)
            sum = mix_hash(sum, __atomic_load_n(watch->sites[i].semaphore, __ATOMIC_RELAXED));
    }
    for (sessions &= ~(1ull << PYUSDT_FLIGHT_SLOT); sessions != 0;
         sessions &= sessions - 1) /* of 63, whatever is in the words */
        sum = mix_hash(sum,
                       atomic_load(&pyusdt_ctl_slot((unsigned)__builtin_ctzll(sessions))->wanted));
    return sum;
}

/* With the lock, which it releases while `changed` runs: the list may have changed when it returns,
 * except this watch. */
static void call_changed(struct pyusdt_watch *watch)
{
    watcher.calling = watch;
    pthread_mutex_unlock(&watcher.lock);
    watch->changed(watch->arg);
    pthread_mutex_lock(&watcher.lock);
    watcher.calling = NULL;
    pthread_cond_broadcast(&watcher.returned);
}

static bool is_stopped(void)
{
    return __atomic_load_n(&watcher.stops, __ATOMIC_ACQUIRE);
}

static void check_watches(void)
{
    pthread_mutex_lock(&watcher.lock);
    for (struct pyusdt_watch *watch = watcher.first; watch && !is_stopped(); watch = watch->next) {
        uint64_t now = hash_demand(watch);
        if (now != watch->seen)
            pyusdt_places_changed();
        else if (!watch->must_look || !watch->must_look())
            continue;
        watch->seen = now;
        call_changed(watch);
    }
    pthread_mutex_unlock(&watcher.lock);
}

static void sleep_1ms(void)
{
    const struct timespec millisecond = {0, 1000000};
    nanosleep(&millisecond, NULL);
}

static void *watch_main(void *unused)
{
    /* stays at its address, whichever file is there */
    struct pyusdt_ctl_header *ctl = pyusdt_core.ctl;
    uint64_t checked = pyusdt_now();
    uint32_t wakeup;
    bool has_rights;

    (void)unused;
    pyusdt_os_name_thread("pyusdt-watch");
    has_rights = pyusdt_os_drop_rights();
    while (wakeup = atomic_load(&ctl->wakeup), !is_stopped()) {
        uint64_t checked_watches = pyusdt_now();
        has_rights = has_rights && pyusdt_os_drop_rights_like_main_thread();
        check_watches();
        if (checked_watches - checked > TRACER_CHECK_NS) {
            checked = checked_watches;
            pyusdt_sessions_check_tracers();
        }
        PYUSDT_HOOK(19);
        if (!is_stopped())
            pyusdt_os_word_wait(&ctl->wakeup, wakeup, PYUSDT_WATCH_MS);
        while (pyusdt_now() - checked_watches < CHECK_INTERVAL_NS && !is_stopped())
            sleep_1ms();
    }
    if (watcher.at_end)
        watcher.at_end();
    __atomic_store_n(&watcher.ended, true, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- the thread ---- */

/* All signals are the program's other threads' to handle, but those that a fault of this one
 * raises. */
static int start_thread(void)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGILL, SIGFPE, SIGTRAP};
    sigset_t blocked, before;
    int r;

    sigfillset(&blocked);
    for (unsigned i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&blocked, own[i]);
    watcher.stops = watcher.ended = false;
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    r = pthread_create(&watcher.thread, NULL, watch_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    watcher.runs = r == 0;
    return -r;
}

static void request_stop(void)
{
    __atomic_store_n(&watcher.stops, true, __ATOMIC_RELEASE);
    pyusdt_watcher_wake(pyusdt_core.ctl);
}

/* ---- forks ---- */

void pyusdt_watcher_after_fork(void)
{
    pthread_mutex_init(&watcher.starting, NULL);
    pthread_mutex_init(&watcher.lock, NULL);
    pthread_cond_init(&watcher.returned, NULL);
    watcher.first = NULL;
    watcher.calling = NULL;
    watcher.runs = false;
    watcher.owner = getpid();
}

/* A child made by a bare clone(), for which no fork handler ran. */
static void detect_clone(void)
{
    if (watcher.owner != getpid())
        pyusdt_watcher_after_fork();
}

/* ---- the public functions ---- */

int pyusdt_watch_start(struct pyusdt_watch *watch)
{
    int r = 0;

    if (!pyusdt_is_published(0))
        return -ENOTCONN;
    detect_clone();
    pthread_mutex_lock(&watcher.starting);
    pthread_mutex_lock(&watcher.lock);
    watch->seen = 0;
    watch->next = watcher.first;
    watcher.first = watch;
    if (watch->ended)
        watcher.at_end = watch->ended;
    if (watcher.runs)
        pyusdt_watcher_wake(pyusdt_core.ctl); /* it checks the new one, too */
    else if ((r = start_thread()) != 0)
        watcher.first = watch->next;
    pthread_mutex_unlock(&watcher.lock);
    pthread_mutex_unlock(&watcher.starting);
    return r;
}

static void remove_watch(const struct pyusdt_watch *watch)
{
    struct pyusdt_watch **at;

    for (at = &watcher.first; *at && *at != watch; at = &(*at)->next)
        ;
    if (*at)
        *at = watch->next;
}

void pyusdt_watch_stop(struct pyusdt_watch *watch)
{
    if (watcher.owner != getpid())
        return; /* it was watched by the parent */
    pthread_mutex_lock(&watcher.starting);
    pthread_mutex_lock(&watcher.lock);
    while (watcher.calling == watch)
        pthread_cond_wait(&watcher.returned, &watcher.lock);
    remove_watch(watch);
    pthread_mutex_unlock(&watcher.lock);
    if (!watcher.first && watcher.runs) {
        request_stop();
        pthread_join(watcher.thread, NULL);
        watcher.runs = false;
    }
    pthread_mutex_unlock(&watcher.starting);
}

/* A thread that waits for ever (for a lock of the ending program, for example) is left behind. */
void pyusdt_watcher_end(void)
{
    if (!watcher.runs || watcher.owner != getpid())
        return;
    request_stop();
    for (int i = 0; i < END_TRIES && !__atomic_load_n(&watcher.ended, __ATOMIC_ACQUIRE); i++)
        sleep_1ms();
    if (__atomic_load_n(&watcher.ended, __ATOMIC_ACQUIRE))
        pthread_join(watcher.thread, NULL);
    watcher.runs = false;
}
