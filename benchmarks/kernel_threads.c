/* Threads that hit the site of user_trace-i4s4 as fast as they can, for benchmarks/kernel_printf.py.
 * Input: a file's name, milliseconds, the number of threads.
 * Output: "ready" when the site is there.  In the file, when a tracer has come and the time is over: how often was fired,
 *          nanoseconds of CPU time a firing, when it began and ended, in seconds since the epoch.
 * - Nothing but the site: what the values cost is not the tracers'. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "target/sites.h"

enum {
    PROBE = 1,
    MOST_THREADS = 64,
    BETWEEN_LOOKS = 100
}; /* user_trace-i4s4 is the provider file's second probe */

extern unsigned short pyusdt_semaphores[] __attribute__((visibility("hidden")));

static atomic_bool over;
static struct {
    pthread_t id;
    double fired, cpu;
} threads[MOST_THREADS];

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void *fire(void *number)
{
    char proc[] = "<4711.4712>", tag[] = "GET /index.html",
         user[] = "user@example.org"; /* resident: nothing faults */
    uint64_t values[12] = {(uintptr_t)proc, (uintptr_t)tag, 0, 2, 0, 0, (uintptr_t)user};
    double cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
    while (!atomic_load_explicit(&over, memory_order_relaxed)) {
        for (int i = 0; i < BETWEEN_LOOKS; i++, values[2]++)
            pyusdt_site_hit(PROBE, values);
    }
    threads[(uintptr_t)number].fired = (double)values[2];
    threads[(uintptr_t)number].cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
    return NULL;
}

int main(int argc, char **argv)
{
    int count = argc == 4 ? atoi(argv[3]) : 0;
    double fired = 0, cpu = 0;
    if (count < 1 || count > MOST_THREADS)
        return 2;
    puts("ready");
    fflush(stdout);
    for (int tries = 0; !*(volatile unsigned short *)&pyusdt_semaphores[PROBE]; usleep(1000)) {
        if (++tries == 60000)
            return 1; /* nobody came: there is nothing to tell */
    }
    usleep(300000); /* some enable their programs a moment after the semaphore */
    double began = seconds(CLOCK_REALTIME);
    for (uintptr_t i = 0; i < (uintptr_t)count; i++)
        pthread_create(&threads[i].id, NULL, fire, (void *)i);
    usleep((useconds_t)atoi(argv[2]) * 1000);
    atomic_store(&over, true);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i].id, NULL);
        fired += threads[i].fired;
        cpu += threads[i].cpu;
    }
    double ended = seconds(CLOCK_REALTIME);
    FILE *out = fopen(argv[1], "w");
    if (!out)
        return 1;
    fprintf(out, "%.0f %f %f %f", fired, cpu / fired * 1e9, began, ended);
    return fclose(out) ? 1 : 0;
}
