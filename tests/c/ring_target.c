/*
 * A process that fires: ring_target ACCOUNT THREADS COUNT [option …]
 *
 *   wait       each thread waits until the probe is wanted, before every firing (with until-off: the first)
 *   until-off  after COUNT firings, goes on until the probe is off
 *   fork       a child does the same, in ACCOUNT.child
 *   rawfork    the same by a bare clone(), which no atfork handler sees
 *   limit=WHAT the child of fork, rawfork or orphan first has no descriptors (nofile), may make no files (fsize), or map nothing (as)
 *   lift       it fires COUNT times more when it has that limit no longer
 *   orphan     the process ends; a child, whose number it prints, does the same when it gets SIGUSR1
 *   cancel     the first of several threads has been cancelled when it fires, once, and ends after that
 *   leave      the first thread ends when it has started the others
 *   signal     a timer's handler, in the first thread, fires too, as thread THREADS
 *   pace=US    sleeps in between
 *   no-probes  publishes nothing
 *   linger     sleeps when done, until it is killed
 *   setuid=UID becomes this user when it has published itself
 *   storm=N    nothing of the above: N children at once, each fires COUNT times as thread 0 … N-1, and ends
 * HOOK, HOOK_SIGNAL: see hook_kill.h.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook_kill.h"
#include "pyusdt.h"
#include "target/target.h"
#include "shared/os.h"
#include "traced.h"

static struct account *account;
static uint64_t count;
static unsigned nthreads, pace, storm;
static uid_t user;
static int waits, until_off, forks, raw_forks, orphans, leaves, cancels, signals, no_probes,
    lingers;

static const struct pyusdt_probe_desc PROBES[] = {
    {"pyusdt", "ring_target", "fire_s1", "user_trace-s1", 1, 0x1, 1, 0, NULL},
    {"pyusdt", "ring_target", "fire_i4s4", "user_trace-i4s4", 1, 0x3e0, 10, 0, NULL},
    {"pyusdt", "ring_target", "fire_n", "user_trace-n", 951, 0x3e0, 10, 0, NULL},
};

/* One firing, as the producers of pyusdt do it. */
static int fire(uint64_t thread, uint64_t sequence)
{
    struct pyusdt_args args = {.missing = 0};
    char buffer[128];
    uint32_t demand;

    if (!pyusdt_wanted(PROBE_I4S4))
        return 0;
    demand = pyusdt_demand(PROBE_I4S4);
    if (demand == 0)
        return 0;
    args.value[0] = thread;
    args.value[1] = sequence;
    args.value[2] = checksum(thread, sequence);
    args.length[TEXT_ARGUMENT] = text(thread, sequence, buffer, sizeof buffer);
    args.value[TEXT_ARGUMENT] = (uint64_t)(uintptr_t)buffer;
    account->started[thread]++;
    pyusdt_fire(PROBE_I4S4, &args);
    account->returned[thread]++;
    return 1;
}

/* A thread that begins late may find that the tracer has come and gone: with until-off it does not wait for another. */
static void wait_until_wanted(void)
{
    static int came;

    while (!pyusdt_wanted(PROBE_I4S4) && !(until_off && __atomic_load_n(&came, __ATOMIC_RELAXED)))
        usleep(200);
    __atomic_store_n(&came, 1, __ATOMIC_RELAXED);
}

static int cancelled;

static void *thread_main(void *arg)
{
    uint64_t thread = (uint64_t)(uintptr_t)arg;
    sigset_t alarm;

    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    if (thread == 0)
        pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    if (cancels && thread == 0) {
        while (!pyusdt_wanted(PROBE_I4S4) || !__atomic_load_n(&cancelled, __ATOMIC_ACQUIRE))
            ; /* nothing that ends it */
        __atomic_store_n(&cancelled, 2, __ATOMIC_RELEASE);
        fire(thread, 0);
        pthread_testcancel();
    }
    while (cancels && __atomic_load_n(&cancelled, __ATOMIC_ACQUIRE) != 2)
        usleep(200);
    for (uint64_t i = 0; i < count || until_off; i++) {
        if (waits && (i == 0 || !until_off))
            wait_until_wanted();
        if (!fire(thread, i)) {
            __atomic_fetch_add(&account->off, 1, __ATOMIC_RELAXED);
            if (until_off && i >= count)
                break;
        }
        if (pace)
            usleep(pace);
    }
    return NULL;
}

static void on_timer(int number)
{
    static uint64_t sequence;
    (void)number;
    fire(nthreads, sequence++);
}

static void run(void)
{
    const unsigned others = nthreads > 1 ? nthreads : 0;
    pthread_t threads[MAX_THREADS];
    struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};

    if (signals) {
        sigset_t alarm;
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        pthread_sigmask(SIG_BLOCK, &alarm, NULL); /* here and in all threads but the first */
        signal(SIGALRM, on_timer);
        setitimer(ITIMER_REAL, &every, NULL);
    }
    if (nthreads == 1) /* a process of one thread */
        thread_main(NULL);
    for (uintptr_t i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, thread_main, (void *)i);
    if (cancels)
        __atomic_store_n(&cancelled, pthread_cancel(threads[0]) == 0, __ATOMIC_RELEASE);
    if (leaves)
        pthread_exit(NULL);
    for (unsigned i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    if (signals)
        setitimer(ITIMER_REAL, &never, NULL);
    account->alone = pyusdt_core.slot[0].barrier && pyusdt_os_is_single_threaded();
}

static struct account *open_account(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    struct account *made;

    if (fd < 0 || ftruncate(fd, sizeof *made) != 0)
        exit(3);
    made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return made;
}

static const char *limited;
static int lifts;

/* As a child that has, or has had, this limit. */
static void run_limited(void)
{
    const struct {
        const char *name;
        __rlimit_resource_t resource;
    } limits[] = {{"nofile", RLIMIT_NOFILE}, {"fsize", RLIMIT_FSIZE}, {"as", RLIMIT_AS}};
    struct rlimit before, none;

    for (unsigned i = 0; limited && i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limited, limits[i].name) == 0) {
            getrlimit(limits[i].resource, &before);
            none = (struct rlimit){0, before.rlim_max};
            setrlimit(limits[i].resource, &none);
            run();
            setrlimit(limits[i].resource, &before);
            usleep(250000); /* it tries again five times a second */
        }
    if (!limited || lifts)
        run();
}

static void run_in_child(const char *path)
{
    char child_path[512];
    pid_t child;

    fire(0, count + 1000000); /* so that the parent's rings are there and in use */
    snprintf(child_path, sizeof child_path, "%s.child", path);
    child = raw_forks ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
    if (child == 0) {
        account = open_account(child_path);
        run_limited();
        exit(0);
    }
    run();
    waitpid(child, NULL, 0);
}

/* The child has not fired yet when its parent is gone. */
static void run_orphan(void)
{
    sigset_t usr1;
    pid_t child;
    int got;

    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, NULL);
    child = fork();
    if (child != 0) {
        printf("%d\n", (int)child);
        exit(0);
    }
    fclose(stdout);
    alarm(60); /* should nobody come */
    sigwait(&usr1, &got);
    run_limited();
}

static void run_storm(void)
{
    for (unsigned i = 0; i < storm; i++)
        if (fork() == 0) {
            thread_main((void *)(uintptr_t)i);
            exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    account = open_account(argv[1]);
    nthreads = (unsigned)atoi(argv[2]);
    count = strtoull(argv[3], NULL, 10);
    for (int i = 4; i < argc; i++) {
        waits |= strcmp(argv[i], "wait") == 0;
        until_off |= strcmp(argv[i], "until-off") == 0;
        forks |= strcmp(argv[i], "fork") == 0;
        raw_forks |= strcmp(argv[i], "rawfork") == 0;
        orphans |= strcmp(argv[i], "orphan") == 0;
        cancels |= strcmp(argv[i], "cancel") == 0;
        leaves |= strcmp(argv[i], "leave") == 0;
        signals |= strcmp(argv[i], "signal") == 0;
        no_probes |= strcmp(argv[i], "no-probes") == 0;
        lingers |= strcmp(argv[i], "linger") == 0;
        lifts |= strcmp(argv[i], "lift") == 0;
        if (strncmp(argv[i], "limit=", 6) == 0)
            limited = argv[i] + 6;
        if (strncmp(argv[i], "pace=", 5) == 0)
            pace = (unsigned)atoi(argv[i] + 5);
        if (strncmp(argv[i], "setuid=", 7) == 0)
            user = (uid_t)atoi(argv[i] + 7);
        if (strncmp(argv[i], "storm=", 6) == 0)
            storm = (unsigned)atoi(argv[i] + 6);
    }
    if (!no_probes && pyusdt_publish(PROBES, 3) != 0) {
        fprintf(stderr, "ring_target: not published\n");
        return 4;
    }
    if (user != 0 && setuid(user) != 0)
        return 5;
    account->ready = 1;
    if (storm)
        run_storm();
    else if (orphans)
        run_orphan();
    else if (forks || raw_forks)
        run_in_child(argv[1]);
    else
        run();
    while (lingers)
        pause();
    return 0;
}
