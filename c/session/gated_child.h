/*
 * A child process that exists before its program runs, so that a session can name its pid.
 *
 * - The child waits until the gate says which variables to add to the environment, and then becomes
 *   the command. If the gate closes without a word, the child ends.
 * - The child runs nothing of the parent's (no Python, no signal handler); any thread may make it.
 */
#ifndef PYUSDT_SESSION_GATED_CHILD_H
#define PYUSDT_SESSION_GATED_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

struct pyusdt_gate {
    int child
        [2]; /* what the child reads at the gate, and where it writes the errno of a failure, as text */
    int parent[2]; /* the other ends, which the child closes */
    bool
        dies_alone; /* the command runs on when the thread that called is gone; else it gets SIGTERM then, on Linux */
};

/* The child's pid or -errno. Through the gate go 4 bytes, the size of what follows, and `name=value\0` for each variable. */
pid_t pyusdt_gated_fork(char *const *argv, const struct pyusdt_gate *gate);

#pragma GCC visibility pop
#endif
