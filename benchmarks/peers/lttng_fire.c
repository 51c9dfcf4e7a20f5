/*
 * In: lines with a number n. For each, fires the LTTng-UST tracepoint n times, as pyusdt.p(1, 2, "a") would, and
 * answers with a line: the nanoseconds that took.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(void)
{
    unsigned long n;

    while (scanf("%lu", &n) == 1) {
        uint64_t start = now();

        for (unsigned long i = 0; i < n; i++)
            lttng_ust_tracepoint(pyusdt_bench, i4s4, "<12345.12345>", "bench", 1, 2, 0, 0, "a", "", "", "");
        printf("%" PRIu64 "\n", now() - start);
        fflush(stdout);
    }
    return 0;
}
