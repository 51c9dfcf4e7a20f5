/* A thread of another process, stopped, and its registers. */
#ifndef PYUSDT_PYSTACK_STOPPED_THREAD_H
#define PYUSDT_PYSTACK_STOPPED_THREAD_H

#include <stdint.h>
#include <sys/types.h>

enum {
    PYUSDT_STOP_REGISTERS = 33,  /* x86-64: 16 and the pc; aarch64: x0 to x30, sp, pc */
    PYUSDT_STOP_TIMEOUT = 20000, /* microseconds, for all threads together */
    PYUSDT_STOP_MAX = 256,       /* threads at once */
};

struct pyusdt_stopped {
    pid_t tid;
    int result;
    uint64_t registers[PYUSDT_STOP_REGISTERS];
};

#endif
