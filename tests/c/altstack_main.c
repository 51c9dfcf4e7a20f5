/*
 * Fires in a signal handler on a small alternate stack: altstack_main HOW [COUNT]
 *
 *   plain   an event with an integer and a string
 *   stack   the same with its stack
 *   place   an event at a place
 *   fork    the handler forks, and the child fires: its first event, with its stack
 *   full    as many events as fill the buffer, with their stacks
 * The stack is what the kernel takes for a signal's frame, and ROOM bytes; below it no memory is. Prints how many bytes of it the
 * deepest firing took, from the handler's frame on (with fork: 0).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hook_kill.h"
#include "pyusdt.h"

#define ROOM 2048u /* what MINSIGSTKSZ was, frame included */
#define PAINT 0x5a

static const struct pyusdt_probe_desc probes[] = {
    {"alt", "altstack_main", "handle", "hit", 1, 2, 2, 0, NULL},
    {"alt", "", "", "place", 1, 0, 0, 1, NULL},
};
static enum { PLAIN, STACK, PLACE, FORK, FULL } how;
static struct pyusdt_args args; /* not on the small stack */
static uint32_t place;
static char *lowest, *entered;
static size_t size;

static __attribute__((noinline)) void fire(void)
{
    uint64_t sessions;

    if (how == PLACE) {
        sessions = pyusdt_place_wanted(1, "altstack_main", "handle");
        if (pyusdt_demand_at(1, sessions) != 0)
            pyusdt_fire_at(1, place, sessions, &args);
    } else if (pyusdt_demand(0) == 0) {
        return;
    } else if (how == PLAIN) {
        pyusdt_fire(0, &args);
    } else {
        pyusdt_fire_with_stack(0, 0, ~0ull, &args);
    }
}

static void handle(int number)
{
    (void)number;
    entered = __builtin_frame_address(0);
    if (how == FORK && fork() != 0)
        return;
    for (int i = 0; i < (how == FULL ? 500 : 1); i++)
        fire();
    if (how == FORK)
        _exit(0);
}

/* Below the page that is not there lies the stack, painted; its upper end is that of its memory. */
static void make_stack(void)
{
    const size_t page = 65536, room = (size_t)sysconf(_SC_MINSIGSTKSZ) + ROOM;
    size_t whole = (room + page - 1) / page * page;
    char *at = mmap(NULL, whole + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_size = size = room / 16 * 16};

    if (at == MAP_FAILED || mprotect(at, page, PROT_NONE) != 0)
        exit(3);
    lowest = stack.ss_sp = at + page; /* what lies above it is nobody's */
    memset(lowest, PAINT, size);
    if (sigaltstack(&stack, NULL) != 0)
        exit(4);
}

static size_t deepest(void)
{
    size_t at = 0;

    while (at < size && lowest[at] == PAINT)
        at++;
    return (size_t)(entered - (lowest + at));
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"plain", "stack", "place", "fork", "full"};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    const struct timespec pause = {0, 30000000};
    int count = argc > 2 ? atoi(argv[2]) : 20, status;

    for (unsigned i = 0; argc > 1 && i < sizeof names / sizeof *names; i++)
        how = strcmp(argv[1], names[i]) == 0 ? i : how;
    args.value[0] = 7;
    args.value[1] = (uintptr_t)"a string of some bytes";
    args.length[1] = 22;
    make_stack();
    sigaction(SIGUSR1, &action, NULL);
    if (pyusdt_publish(probes, 2) != 0)
        return 5;
    place = pyusdt_place("altstack_main", "handle", "altstack_main.c", 1);
    for (int i = 0; i < count; i++) {
        raise(SIGUSR1);
        nanosleep(&pause, NULL);
        while (how == FORK && waitpid(-1, &status, 0) > 0)
            if (WIFSIGNALED(status))
                return 6;
    }
    printf("%zu\n", how == FORK ? 0 : deepest());
    return 0;
}
