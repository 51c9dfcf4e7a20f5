/*
 * The watcher, by itself: watch_main SCENARIO. The process is its own tracer: it sets a bit and rings. Prints "ok", or what was wrong.
 *
 *   bell       (built with a watcher that waits for ever:) a change that is rung for is told; one of other probes is not
 *   between    (likewise) the bell rings after the watcher has looked, before it waits
 *   storm      somebody changes and rings without a pause: how often `changed` is called, and how often the watcher looks
 *   semaphore  a USDT tracer rings no bell
 *   fork       children, by fork() and by a bare clone(): no thread, and nothing hangs; one can start it anew
 *   signals    which thread gets a signal
 *   stop       waits for a `changed` that runs; nothing comes after it; 300 starts and stops
 *   end        the process ends while `changed` never returns
 *   gone       its control file is truncated and removed
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pyusdt.h"
#include "shared/wakeup.h"
#include "target/target.h"

enum { PROBES = 4, OTHER = 3 };

static atomic_int calls, others, inside;
static void (*at_hook)(void);

void pyusdt_hook(int place);
void pyusdt_hook(int place)
{
    if (place == 19 && at_hook)
        at_hook();
}

#define REQUIRE(what) \
    do { \
        if (!(what)) { \
            printf("line %d: %s\n", __LINE__, #what); \
            fflush(stdout); \
            _exit(1); \
        } \
    } while (0)

static void on_change(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static struct pyusdt_watch watch = {.changed = on_change, .arg = &calls, .first = 0, .n = 2};
static struct pyusdt_watch other = {.changed = on_change, .arg = &others, .first = OTHER, .n = 1};

static void change(unsigned probe)
{
    atomic_fetch_xor(&pyusdt_core.words[probe], 1);
}

static void ring(void)
{
    pyusdt_watcher_wake(pyusdt_core.ctl);
}

/* As long as it takes; the test has a time-out. */
static void await(const atomic_int *what, int n)
{
    while (atomic_load(what) < n)
        usleep(100);
}

static void start(void)
{
    REQUIRE(pyusdt_watch_start(&watch) == 0);
    await(&calls, 1);
}

/* Threads of its name: a sanitizer has others. */
static unsigned watchers(void)
{
    DIR *dir = opendir("/proc/self/task");
    char path[300], name[32];
    unsigned n = 0;

    for (const struct dirent *each; (each = readdir(dir)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", each->d_name);
        FILE *file = fopen(path, "r");
        n += file && fgets(name, sizeof name, file) && strcmp(name, "pyusdt-watch\n") == 0;
        if (file)
            fclose(file);
    }
    closedir(dir);
    return n;
}

/* One that has ended is in /proc for a moment more. */
static void await_no_watcher(void)
{
    while (watchers() != 0)
        usleep(100);
}

static void bell(void)
{
    REQUIRE(watchers() == 0);
    start();
    REQUIRE(watchers() == 1 && pyusdt_watch_start(&other) == 0);
    await(&others, 1);
    REQUIRE(watchers() == 1);
    change(1);
    ring();
    await(&calls, 2);
    change(OTHER);
    ring();
    await(&others, 2);
    REQUIRE(atomic_load(&calls) == 2);
    pyusdt_watch_stop(&watch);
    REQUIRE(watchers() == 1);
    pyusdt_watch_stop(&other);
    await_no_watcher();
}

static void change_and_ring(void)
{
    static atomic_int done;
    if (atomic_load(&calls) == 1 && atomic_exchange(&done, 1) == 0) {
        change(0);
        ring();
    }
}

static void between(void)
{
    at_hook = change_and_ring;
    start();
    await(&calls, 2);
}

static void storm(void)
{
    uint64_t begun, ms;

    start();
    begun = pyusdt_now();
    while ((ms = (pyusdt_now() - begun) / 1000000) < 400) {
        change(0);
        ring();
    }
    REQUIRE(atomic_load(&calls) > 2 && (uint64_t)atomic_load(&calls) <= ms / 10 + 3);
}

static void semaphore(void)
{
    static uint16_t attached;
    const struct pyusdt_probe_site sites[2] = {{.index = 0, .semaphore = &attached},
                                               {.index = PYUSDT_NO_PROBE, .semaphore = &attached}};

    watch.sites = sites;
    start();
    __atomic_store_n(&attached, 1, __ATOMIC_RELEASE);
    await(&calls, 2);
    __atomic_store_n(&attached, 0, __ATOMIC_RELEASE);
    await(&calls, 3);
}

static void in_child(void)
{
    REQUIRE(watchers() == 0);
    pyusdt_watch_stop(&watch); /* the parent's */
    atomic_store(&calls, 0);
    start();
    REQUIRE(watchers() == 1);
    pyusdt_watch_stop(&watch);
    await_no_watcher();
}

static void forks(void)
{
    int status;

    start();
    for (int i = 0; i < 40; i++) {
        pid_t child = i % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0);
        ring(); /* so that its locks are taken now and then */
        if (child == 0) {
            in_child();
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && status == 0);
    }
    REQUIRE(watchers() == 1);
}

static atomic_int handled_by;

static void on_signal(int number)
{
    (void)number;
    atomic_store(&handled_by, (int)syscall(SYS_gettid));
}

static void signals(void)
{
    signal(SIGUSR1, on_signal);
    start();
    for (int i = 0; i < 50; i++) {
        sigset_t one, before;
        sigemptyset(&one);
        sigaddset(&one, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &one, &before);
        kill(getpid(), SIGUSR1);
        usleep(100); /* nobody else takes it meanwhile */
        REQUIRE(atomic_load(&handled_by) == 0);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        REQUIRE(atomic_exchange(&handled_by, 0) == getpid());
    }
}

static void slow_change(void *arg)
{
    (void)arg;
    atomic_store(&inside, 1);
    usleep(100000);
    atomic_store(&inside, 2);
}

static void stop(void)
{
    struct pyusdt_watch slow = {.changed = slow_change, .first = 0, .n = 1};

    pyusdt_watch_stop(&watch); /* was never started */
    REQUIRE(pyusdt_watch_start(&slow) == 0);
    await(&inside, 1);
    pyusdt_watch_stop(&slow);
    REQUIRE(atomic_load(&inside) == 2);
    for (int i = 0; i < 300; i++) {
        int before;
        REQUIRE(pyusdt_watch_start(&watch) == 0);
        if (i == 0)
            await(&calls, 1);
        change(0);
        ring();
        pyusdt_watch_stop(&watch);
        before = atomic_load(&calls);
        change(0);
        ring();
        REQUIRE(atomic_load(&calls) == before);
    }
    await_no_watcher();
    pyusdt_watch_stop(&watch);
}

static void never_return(void *arg)
{
    (void)arg;
    atomic_store(&inside, 1);
    for (;;)
        pause();
}

static void end(void)
{
    static struct pyusdt_watch forever = {.changed = never_return, .first = 0, .n = 1};

    REQUIRE(pyusdt_watch_start(&forever) == 0);
    await(&inside, 1);
}

static void gone(void)
{
    char path[1024];
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .process = pyusdt_core.identity};
    char text[PYUSDT_NAME_SIZE];

    start();
    pyusdt_name_format(&name, text);
    snprintf(path, sizeof path, "%s/%s", pyusdt_core.rundir, text);
    REQUIRE(truncate(path, 0) == 0 && unlink(path) == 0);
    usleep(300000); /* it looks, and waits on a page that is no file's any more */
    pyusdt_watch_stop(&watch);
    await_no_watcher();
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } scenarios[] = {{"bell", bell},           {"between", between}, {"storm", storm},
                     {"semaphore", semaphore}, {"fork", forks},      {"signals", signals},
                     {"stop", stop},           {"end", end},         {"gone", gone}};
    static const struct pyusdt_probe_desc table = {"vm", "", "", "n", PROBES, 0, 1, 0, NULL};

    REQUIRE(argc == 2 && pyusdt_watch_start(&watch) == -ENOTCONN);
    REQUIRE(pyusdt_publish(&table, 1) == 0);
    for (unsigned i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++)
        if (strcmp(argv[1], scenarios[i].name) == 0) {
            scenarios[i].run();
            printf("ok\n");
            return 0;
        }
    return 2;
}
