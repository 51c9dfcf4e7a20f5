/* A program with a probe of systemtap's header: a plain nop, no semaphore.  Input: a file's name and n.  Says that it is
 * ready, waits until somebody has put a breakpoint on the probe, fires n times, and writes as kernel_worker.py does. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static void fire(long i, const char *text)
{
    STAP_PROBE3(foreign, fired, i, 2, text);
}

/* A traced firing takes many times as long as a nop. */
static int traced(void)
{
    double began = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 1000; i++)
        fire(i, "a");
    return seconds(CLOCK_THREAD_CPUTIME_ID) - began > 1000 * 100e-9;
}

int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 0;
    puts("ready");
    fflush(stdout);
    int tries = 0;
    while (!traced()) {
        if (++tries == 20000)
            return 1; /* nobody came: there is nothing to tell */
        usleep(1000);
    }
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (long i = 0; i < n; i++)
        fire(i, "a");
    cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    wall = seconds(CLOCK_MONOTONIC) - wall;
    FILE *out = fopen(argv[1], "w");
    if (!out)
        return 1;
    fprintf(out, "%f %f", cpu / (double)n * 1e9, wall);
    return fclose(out) ? 1 : 0;
}
