/* Calls fire() with addresses within three functions, several of each, then fire(0); then it is there until it is killed. */
#include <stdint.h>
#include <unistd.h>

static volatile intptr_t sink;

#define FUNCTION(name, by) \
    static __attribute__((noinline, used)) void name(void) \
    { \
        sink += (by); \
        sink *= 3; \
    }

FUNCTION(first, 1)
FUNCTION(second, 2)
FUNCTION(third, 3)

static __attribute__((noinline)) void fire(intptr_t address)
{
    sink = address;
}

static void (*volatile call)(intptr_t) = fire; /* so that it is neither inlined nor cloned */

static void fire_within(void (*function)(void), int places)
{
    for (int i = 0; i < places; i++)
        call((intptr_t)function + i);
}

int main(void)
{
    alarm(60);
    fire_within(first, 5);
    fire_within(second, 7);
    fire_within(third, 6);
    fire_within(second, 5);
    call(0);
    return pause();
}
