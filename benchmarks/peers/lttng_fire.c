/*
 * Threads that fire the LTTng-UST tracepoint as pyusdt.p(1, 2, "a") would fire its probe. Orders and answers
 * (threads.h) come and go by the standard streams.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"

#include "../threads.h"

static void fire(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        lttng_ust_tracepoint(pyusdt_bench, i4s4, "<12345.12345>", "bench", 1, 2, 0, 0, "a", "", "",
                             "");
}

int main(void)
{
    return serve(stdin, stdout);
}
