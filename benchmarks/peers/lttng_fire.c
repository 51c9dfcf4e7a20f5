/*
 * Threads that fire the LTTng-UST tracepoint as pyusdt.p(1, 2, "a") would fire its probe; with WIDE, as p with eight
 * arguments would. Orders and answers (threads.h) come and go by the standard streams.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include "../threads.h"

#ifdef WIDE
#define ARGUMENTS 1, 2, 3, 4, "GET", "/item/7", "checkout", "eu-west-1"
#else
#define ARGUMENTS 1, 2, 0, 0, "a", "", "", ""
#endif

static void fire(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        lttng_ust_tracepoint(pyusdt_bench, i4s4, "<12345.12345>", "bench", ARGUMENTS);
}

int main(void)
{
    return serve(stdin, stdout);
}
