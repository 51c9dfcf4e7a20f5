/*
 * Threads that fire while another one makes a file, which takes a second: slow_main open|grow|large
 *
 *   open  the first firing opens the session, slowly; another thread fires meanwhile
 *   grow  one thread stays inside the only ring; another makes a second ring, slowly; a third fires meanwhile
 *
 *   large eight threads fire for the first time at once; a file takes a second for each 64 MiB
 *
 * Prints how often the last of them has fired in that time, a millisecond after each other; how often it waited inside, and how often it
 * did so though it had within the last 90 ms.  Of the eight, how often all have fired.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hook_kill.h"
#include "pyusdt.h"
#include "traced.h"

static const struct pyusdt_probe_desc PROBES[] = {
    {"pyusdt", "slow", "fire_s1", "user_trace-s1", 1, 0x1, 1, 0, NULL},
    {"pyusdt", "slow", "fire_i4s4", "user_trace-i4s4", 1, 0x3e0, 10, 0, NULL},
};
static atomic_int slow, begun, over;
static bool large;
static void *unreadable;
static _Thread_local int pauses;

/* In the place of the C library's. */
int posix_fallocate(int fd, off_t at, off_t size)
{
    if (large)
        usleep((useconds_t)(size >> 6));
    if (slow) {
        begun = 1;
        sleep(1);
        slow = 0;
    }
    return fallocate(fd, 0, at, size);
}

int nanosleep(const struct timespec *time, struct timespec *rest)
{
    pauses++;
    return clock_nanosleep(CLOCK_REALTIME, 0, time, rest);
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fire(const char *string)
{
    struct pyusdt_args args = {.missing = 0};

    args.value[2] = checksum(0, 0);
    args.value[TEXT_ARGUMENT] = (uint64_t)(uintptr_t)string;
    args.length[TEXT_ARGUMENT] = 8;
    if (pyusdt_wanted(PROBE_I4S4) && pyusdt_demand(PROBE_I4S4))
        pyusdt_fire(PROBE_I4S4, &args);
}

static void *fire_once(void *string)
{
    fire(string);
    return NULL;
}

static void *fire_together(void *barrier)
{
    pthread_barrier_wait(barrier);
    fire("........");
    return NULL;
}

static void fire_by_eight(void)
{
    pthread_barrier_t barrier;
    pthread_t thread[8];

    pthread_barrier_init(&barrier, NULL, 8);
    for (int i = 0; i < 8; i++)
        pthread_create(&thread[i], NULL, fire_together, &barrier);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
}

/* Who copies from there waits inside its ring. */
static void on_fault(int number)
{
    (void)number;
    begun = 1;
    while (!over)
        usleep(1000);
    mprotect(unreadable, 4096, PROT_READ);
}

/* While the other one is slow.  A firing that has ended within so short a time began with 100 ms during which none is to wait. */
static void fire_meanwhile(int *fired, int *waited, int *again)
{
    double last = 0;

    for (; slow; usleep(1000)) {
        pauses = 0;
        fire("........");
        ++*fired;
        if (pauses == 0)
            continue;
        ++*waited;
        *again += seconds() - last < 0.09;
        last = seconds();
    }
}

static void wait_for_it(void)
{
    while (!begun)
        usleep(100);
    begun = 0;
}

int main(int argc, char **argv)
{
    pthread_t inside, slowly;
    int fired = 0, waited = 0, again = 0, grow = argc > 1 && strcmp(argv[1], "grow") == 0;

    unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, on_fault);
    if (pyusdt_publish(PROBES, 2) != 0)
        return 1;
    while (!pyusdt_wanted(PROBE_I4S4))
        usleep(1000);
    if (argc > 1 && strcmp(argv[1], "large") == 0) {
        large = true;
        fire_by_eight();
        puts("8");
        return 0;
    }
    if (grow) {
        pthread_create(&inside, NULL, fire_once, unreadable);
        wait_for_it();
    }
    slow = 1;
    pthread_create(&slowly, NULL, fire_once, "........");
    wait_for_it();
    fire_meanwhile(&fired, &waited, &again);
    over = 1;
    pthread_join(slowly, NULL);
    if (grow)
        pthread_join(inside, NULL);
    printf("%d %d %d\n", fired, waited, again);
    return 0;
}
