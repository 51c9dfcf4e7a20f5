/*
 * A C program that fires from functions which keep frame pointers: stack_target COUNT [broken | deep | random | odd LIBRARY | threads LIBRARY]
 *
 *   broken   the chain of frame pointers leads anywhere: to itself, down, to memory that is not there, into data
 *   odd      on coroutines' stacks, which are given back then, on a signal handler's and on the smallest stack of a thread, in a forked
 *            child, while another thread loads and unloads a library
 *   deep     300 frames
 *   random   COUNT times on each of two threads, in functions that call each other at random; the event's string says which they were
 *   threads  of three threads at once, while another one loads and unloads a library
 *
 * Prints how many firings were made.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "pyusdt.h"
#ifdef PYUSDT_TEST_HOOKS
#include "hook_kill.h"
#endif

static const struct pyusdt_probe_desc PROBES[] = {
    {"stacked", "stack_target", "innermost", "fired", 1, 0, 1, 0, NULL},
    {"stacked", "stack_target", "at_random", "path", 1, 1, 1, 0, NULL}};

static _Atomic long fired;

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
    uintptr_t links[] = {0,
                         1,
                         16,
                         here,
                         here + 8,
                         here - 4096,
                         here - 64,
                         here + (1 << 20),
                         here + (4 << 20),
                         (uintptr_t)gone,
                         UINTPTR_MAX - 15,
                         UINTPTR_MAX,
                         0x0123456789abcdf0u,
                         (uintptr_t)&PROBES,
                         (uintptr_t)&fire_broken & ~15ull};

    munmap(gone, 4 * page);
    for (unsigned i = 0; i < sizeof links / sizeof links[0]; i++)
        fire_with_link(links[i]);
    for (unsigned i = 0; i < 3000; i++)
        fire_with_link(here + 16 * ((uintptr_t)rand() % (1 << (i % 20))));
}

#define STACK (256 << 10)

static ucontext_t here, there;

static void coroutine(void)
{
    for (int i = 0; i < 10; i++) {
        outermost(1);
        fire_with_link((uintptr_t)__builtin_frame_address(0) +
                       16 * ((uintptr_t)rand() % (1 << (i + 8))));
    }
}

/* Each on a stack of its own, which is gone when the next one has its. */
static void fire_on_coroutines(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        getcontext(&there);
        there.uc_stack.ss_sp = stack;
        there.uc_stack.ss_size = STACK;
        there.uc_link = &here;
        makecontext(&there, coroutine, 0);
        swapcontext(&here, &there);
        munmap(stack, STACK);
        outermost(1);
    }
}

static void handler(int signal)
{
    outermost((uint64_t)signal);
}

static void fire_in_handlers(unsigned count)
{
    stack_t other = {.ss_sp = malloc(STACK), .ss_size = STACK}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (unsigned i = 0; i < count; i++)
        raise(SIGUSR1);
    sigaltstack(&none, NULL);
    free(other.ss_sp);
}

static void *run_odd(void *arg)
{
    (void)arg;
    fire_on_coroutines(100);
    fire_in_handlers(100);
    return NULL;
}

static void *run_once(void *arg)
{
    (void)arg;
    outermost(1);
    return NULL;
}

static void fire_on_small_stacks(unsigned count)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 4 * PTHREAD_STACK_MIN);
    for (unsigned i = 0; i < count; i++) {
        pthread_create(&thread, &attributes, run_once, NULL);
        pthread_join(thread, NULL);
    }
}

static atomic_int ends;

static void *load(void *path)
{
    while (!ends) {
        void *library = dlopen(path, RTLD_NOW);
        if (library)
            dlclose(library);
    }
    return NULL;
}

/* Of the child it says only whether it lived. */
static void fire_odd(char *library)
{
    pthread_t loads, thread;
    int status;
    pid_t child;

    pthread_create(&loads, NULL, load, library);
    pthread_create(&thread, NULL, run_odd, NULL);
    fire_on_small_stacks(20);
    pthread_join(thread, NULL);
    run_odd(NULL); /* by turns, since they have one place to come back to */
    child = fork();
    if (child == 0) {
        run_odd(NULL);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        abort();
    ends = 1;
    pthread_join(loads, NULL);
}

__attribute__((noinline)) static void deep(unsigned more)
{
    if (more > 0)
        deep(more - 1);
    else
        innermost(1);
    __asm__ volatile("" ::: "memory");
}

/* ---- at random ---- */

#define DEEPEST 60

static _Thread_local char path[DEEPEST + 1];
static _Thread_local unsigned length, seed;

static void go_on(void);

/* The room that each takes on the stack differs from call to call. */
#define FUNCTION(letter) \
    __attribute__((noinline)) static void function_##letter(void) \
    { \
        char *room = alloca(rand_r(&seed) % 3000 + 1); \
        path[length++] = #letter[0]; \
        go_on(); \
        __asm__ volatile("" ::"r"(room) : "memory"); \
        length--; \
    }
FUNCTION(a)
FUNCTION(b)
FUNCTION(c)
FUNCTION(d)

__attribute__((noinline)) static void at_random(void)
{
    struct pyusdt_firing firing;

    if (pyusdt_firing_begin(&firing, 1, 0)) {
        path[length] = '\0';
        pyusdt_firing_text(&firing, 0, path, length);
        pyusdt_firing_fire(&firing);
        fired++;
    }
    __asm__ volatile("" ::: "memory");
}

static void go_on(void)
{
    static void (*const functions[])(void) = {function_a, function_b, function_c, function_d};

    if (length == DEEPEST || rand_r(&seed) % 16 == 0)
        at_random();
    else
        functions[rand_r(&seed) % 4]();
    __asm__ volatile("" ::: "memory");
}

static void *run_at_random(void *arg)
{
    for (long i = 0; i < *(long *)arg; i++)
        function_a();
    return NULL;
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

static void fire_at_once(long *count, char *library)
{
    pthread_t loads, threads[3];

    pthread_create(&loads, NULL, load, library);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, count);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    ends = 1;
    pthread_join(loads, NULL);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1;
    pthread_t thread;

    if (pyusdt_publish(PROBES, 2) < 0) {
        fprintf(stderr, "it is not published\n");
        return 1;
    }
    for (int i = 0; i < 10000 && !pyusdt_enabled_words[0] && !pyusdt_enabled_words[1]; i++)
        usleep(1000);
    if (argc > 2 && strcmp(argv[2], "deep") == 0) {
        deep(300);
    } else if (argc > 2 && strcmp(argv[2], "random") == 0) {
        pthread_create(&thread, NULL, run_at_random, &count);
        run_at_random(&count);
        pthread_join(thread, NULL);
    } else if (argc > 3 && strcmp(argv[2], "threads") == 0) {
        fire_at_once(&count, argv[3]);
    } else if (argc > 3 && strcmp(argv[2], "odd") == 0) {
        fire_odd(argv[3]);
    } else {
        run(&count);
        pthread_create(&thread, NULL, argc > 2 ? run_broken : run, &count);
        pthread_join(thread, NULL);
        if (argc > 2)
            fire_broken();
    }
    printf("fired %ld\n", fired);
    return 0;
}
