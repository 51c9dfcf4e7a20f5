/* Processor time of the calling thread, ns. */
#ifndef PYUSDT_SESSION_THREAD_CLOCK_H
#define PYUSDT_SESSION_THREAD_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t pyusdt_thread_ns(void)
{
    struct timespec now = {0, 0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
