/* Threads that publish at the same moment, as interpreters do that load the extension each under its own GIL: exits with 0
 * where just one of them did it and the others were told so. */
#include <errno.h>
#include <pthread.h>

#include "pyusdt.h"

enum { THREADS = 16 };

static const struct pyusdt_probe_desc PROBE = {
    "at_once", "publish_main", "main", "tick", 1, 0, 1, 0, NULL};
static pthread_barrier_t together;
static int results[THREADS];

static void *publish(void *result)
{
    pthread_barrier_wait(&together);
    *(int *)result = pyusdt_publish(&PROBE, 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int published = 0, told = 0;

    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, publish, &results[i]) != 0)
            return 2;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        published += results[i] == 0;
        told += results[i] == -EALREADY;
    }
    return published == 1 && told == THREADS - 1 ? 0 : 1;
}
