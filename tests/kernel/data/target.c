/* A program with probes of its own, made by systemtap's header; target_plain.c is its other file.
 *
 *   target N [THREADS]   fire N times in each thread, then print how often each probe was fired; with N = 0 wait for
 *                        lines on the standard input: each line fires the probes once and answers "fired" */
#define _SDT_HAS_SEMAPHORES 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>

unsigned short target_guarded__one_semaphore __attribute__((section(".probes")));
void fire_plain(long i, const char *word);
static const char *const words[4] = {"zero", "one", "two", "three"};
static long guarded;

__attribute__((noinline)) static void fire(long i)
{
    fire_plain(i, words[i & 3]);
    if (target_guarded__one_semaphore) {
        __atomic_fetch_add(&guarded, 1, __ATOMIC_RELAXED);
        STAP_PROBE1(target, guarded__one, -i);
    }
}

static void *work(void *n)
{
    for (long i = 0; i < (long)n; i++)
        fire(i);
    return NULL;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    int threads = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t ids[16];
    char line[64];
    for (const char *const *word = words; word < words + 4; word++)
        fprintf(stderr, "%s",
                **word ? "" : *word); /* the strings are in memory before a tracer reads them */
    if (n == 0) {
        for (long i = 0; fgets(line, sizeof line, stdin); i++) {
            fire(i);
            printf("fired\n");
            fflush(stdout);
        }
        return 0;
    }
    for (int t = 0; t < threads; t++)
        pthread_create(&ids[t], NULL, work, (void *)n);
    for (int t = 0; t < threads; t++)
        pthread_join(ids[t], NULL);
    printf("plain %ld guarded %ld\n", n * threads, guarded);
    return 0;
}
