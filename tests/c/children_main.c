/*
 * Makes children in each way that the kernel knows: children_main.  Each child fires 10 events, with the number of its way:
 *
 *   1   none: the process itself, before each round
 *   2   vfork(), in the memory and on the stack of its parent
 *   3   clone3(), so the C library and its handlers know nothing of the child
 *   4   clone3() with CLONE_PARENT: the child is not ours to wait for
 *   5   fork()
 */
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hook_kill.h"
#include "pyusdt.h"

#define ROUNDS 50
#define EVENTS 10

static const struct pyusdt_probe_desc probes[] = {
    {.provider = "children", .module = "", .function = "", .name = "hit", .nargs = 1}};

static void fire(uint64_t way)
{
    struct pyusdt_args args = {.value = {way}};

    for (int i = 0; i < EVENTS; i++)
        if (pyusdt_demand(0) != 0)
            pyusdt_fire(0, &args);
}

static void fire_and_exit(uint64_t way)
{
    fire(way);
    _exit(0);
}

static pid_t clone_now(uint64_t flags, uint64_t exit_signal)
{
    struct clone_args how = {.flags = flags, .exit_signal = exit_signal};

    return (pid_t)syscall(SYS_clone3, &how, sizeof how);
}

static int wait_for(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    pid_t child;

    if (pyusdt_publish(probes, 1) != 0)
        return 1;
    for (int i = 0; i < ROUNDS; i++) {
        fire(1);
        if ((child = vfork()) == 0)
            fire_and_exit(2);
        if (!wait_for(child))
            return 2;
        if ((child = clone_now(0, SIGCHLD)) == 0)
            fire_and_exit(3);
        if (!wait_for(child))
            return 3;
        if ((child = clone_now(CLONE_PARENT, 0)) == 0)
            fire_and_exit(4);
        if (child < 0)
            return 4;
        if ((child = fork()) == 0)
            fire_and_exit(5);
        if (!wait_for(child))
            return 5;
    }
    puts("whole");
    return 0;
}
