/* Limits of a walk, and the words in which it gives stacks: python_walk.h. */
#ifndef PYUSDT_PYSTACK_WALKED_STACK_H
#define PYUSDT_PYSTACK_WALKED_STACK_H

#include <stdint.h>

enum {
    PYUSDT_WALK_INTERPRETERS = 64,
    PYUSDT_WALK_THREADS = 4096, /* of all interpreters together */
    PYUSDT_WALK_FRAMES = 16384, /* of a thread, at the most */
};

/* Of a thread's stack. */
enum {
    PYUSDT_STACK_GIL = 1, /* the thread holds the lock of the interpreter */
    PYUSDT_STACK_MOVED =
        2, /* functions are right; a caller's position, or the innermost function, may be a moment old */
    PYUSDT_STACK_TORN = 4, /* inner frames changed too fast: they are left out */
    PYUSDT_STACK_CUT = 8,  /* there are more, outer frames than were asked for */
    PYUSDT_STACK_LOST =
        16, /* it led to an address that is not there, or in a circle: nothing of it is given */
    PYUSDT_STACK_RAN =
        32, /* the innermost function went on while the stack was read: the thread has a processor, and is in no C function */
};

/* A thread in the words that pyusdt_walk() gives; behind it two words a frame: code object (with PYUSDT_FRAME_FIRST in it), position. */
struct pyusdt_walked {
    uint64_t thread; /* the address of its PyThreadState */
    uint64_t interpreter;
    uint64_t id;     /* pthread_self() */
    uint64_t native; /* gettid() as the process knows it; 0: before 3.11 */
    uint64_t flags, frames;
};

/* In a code object's address: the frame is the outermost of those that one call of the interpreter's C function runs.  Where `entries` were
 * asked for, behind each of these comes a pair without a code object: this bit alone, and the address of what that call keeps on its
 * own stack (from 3.12 on, else 0).  Where `addresses` were asked for, a pair of PYUSDT_FRAME_ADDRESS and the frame's own address is
 * directly behind each frame. */
enum { PYUSDT_FRAME_FIRST = 1, PYUSDT_FRAME_ADDRESS = 4 };

#endif
