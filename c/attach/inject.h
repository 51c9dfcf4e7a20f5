/*
 * Has another process's CPython run a text: a small child process stops the threads, changes the ring of pending calls
 * (ring_entry.h), and ends.
 *
 * - The child runs nothing of the tracer's: no Python, no signal handler.
 * - A timer of the kernel kills the child PYUSDT_INJECT_LIMIT after its start, also if it is stopped or starved. Threads
 *   stand still no longer than that, whatever becomes of the tracer.
 */
#ifndef PYUSDT_ATTACH_INJECT_H
#define PYUSDT_ATTACH_INJECT_H

#include "attach/ring_entry.h"

enum { PYUSDT_INJECT_LIMIT = 250 }; /* milliseconds */

/* What tells a program from what the process may have become since (exec): numbers of its /proc/PID/stat. */
struct pyusdt_image {
    uint64_t start_code, start_stack, start_brk;
};

enum pyusdt_injection {
    PYUSDT_INJECT_PUT,
    PYUSDT_INJECT_MEND, /* and a main thread that waits for a lock looks at its pending calls */
    PYUSDT_INJECT_WITHDRAW,
};

struct pyusdt_injected {
    int error; /* -errno of stopping the threads: those of pyusdt_process_stop(), and -ESTALE: it has become another program */
    enum pyusdt_ring_result result; /* where error is 0 */
    enum pyusdt_misfit misfit;
    uint64_t used; /* the slot */
    pid_t late;    /* error is -EAGAIN: the thread that did not stop; 0: none */
    char late_state;
    uint32_t threads; /* that stood */
    int64_t stood;    /* for so long, nanoseconds, from the first one's stop on */
};

#pragma GCC visibility push(hidden)

/* The numbers of the process as it is now.  0 or -errno. */
int pyusdt_image_read(pid_t pid, struct pyusdt_image *image);

/* limit: milliseconds in which all threads have to stop.  0: see `injected`.  -errno: there could be no child; -EINTR: it was killed, and what it has done is not known. */
int pyusdt_inject(enum pyusdt_injection what, int limit, struct pyusdt_ring_target *target,
                  const struct pyusdt_image *image, struct pyusdt_injected *injected);

#pragma GCC visibility pop

#endif
