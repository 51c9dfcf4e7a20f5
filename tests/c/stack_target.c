/*
 * A C program that fires from functions which keep frame pointers: stack_target COUNT [broken]
 *
 *   broken   the chain of frame pointers leads anywhere: to itself, down, to memory that is not there, into data
 *
 * Prints how many firings were made.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pyusdt.h"

static const struct pyusdt_probe_desc PROBES[] = {{"stacked", "stack_target", "innermost", "fired", 1, 0, 1, 0, NULL}};

static long fired;

__attribute__((noinline)) void innermost(uint64_t value)
{
    struct pyusdt_firing firing;

    if (pyusdt_firing_begin(&firing, 0, 0)) {
        firing.args.value[0] = value;
        pyusdt_firing_fire(&firing);
        fired++;
    }
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void in_between(uint64_t value)
{
    innermost(value);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void outermost(uint64_t value)
{
    in_between(value);
    __asm__ volatile("" ::: "memory");
}

/* Its own frame's link to its caller is another while it fires. */
__attribute__((noinline)) static void fire_with_link(uintptr_t link)
{
    volatile uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t was = frame[0];

    frame[0] = link;
    innermost(link);
    frame[0] = was;
}

static void fire_broken(void)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), page = 4096;
    char *gone = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t links[] = {0, 1, 16, here, here + 8, here - 4096, here - 64, here + (1 << 20), here + (4 << 20), (uintptr_t)gone, UINTPTR_MAX - 15,
                         UINTPTR_MAX, 0x0123456789abcdf0u, (uintptr_t)&PROBES, (uintptr_t)&fire_broken & ~15ull};

    munmap(gone, 4 * page);
    for (unsigned i = 0; i < sizeof links / sizeof links[0]; i++)
        fire_with_link(links[i]);
    for (unsigned i = 0; i < 3000; i++)
        fire_with_link(here + 16 * ((uintptr_t)rand() % (1 << (i % 20))));
}

static void *run(void *arg)
{
    for (long i = 0; i < *(long *)arg; i++)
        outermost((uint64_t)i);
    return NULL;
}

static void *run_broken(void *arg)
{
    (void)arg;
    fire_broken();
    return NULL;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1;
    pthread_t thread;

    if (pyusdt_publish(PROBES, 1) < 0) {
        fprintf(stderr, "it is not published\n");
        return 1;
    }
    for (int i = 0; i < 10000 && !pyusdt_enabled_words[0]; i++)
        usleep(1000);
    run(&count);
    pthread_create(&thread, NULL, argc > 2 ? run_broken : run, &count);
    pthread_join(thread, NULL);
    if (argc > 2)
        fire_broken();
    printf("fired %ld\n", fired);
    return 0;
}
