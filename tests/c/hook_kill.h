/* The test build's hook: HOOK=PLACE:N in the environment is where and at which passing SIGKILL comes (or, with
 * HOOK_SIGNAL=stop or =end-thread, what that says). */
#ifndef HOOK_KILL_H
#define HOOK_KILL_H

#ifdef PYUSDT_TEST_HOOKS
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pyusdt_hook(int place);
void pyusdt_hook(int place)
{
    static atomic_int wanted = -1, passings;
    static int at;
    const char *hook, *how;

    if (wanted < 0) {
        hook = getenv("HOOK");
        if (!hook || sscanf(hook, "%d:%d", &at, &(int){0}) != 2)
            at = 0;
        wanted = at ? atoi(strchr(hook, ':') + 1) : 0;
    }
    if (place != at || ++passings != wanted)
        return;
    how = getenv("HOOK_SIGNAL");
    if (how && strcmp(how, "end-thread") == 0)
        pthread_exit(NULL);
    raise(how && strcmp(how, "stop") == 0 ? SIGSTOP
                                          : SIGKILL); /* to this thread: it gets no further */
}
#endif

#endif
