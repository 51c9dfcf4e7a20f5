/*
 * Threads that fire at the same time, for the C programs of this folder.
 * Input: lines `threads n` (at most MAX_THREADS), and fire(n), which fires n times.
 * Output: for each line, a line: the nanoseconds of CPU time that a thread took for its n, on average over the threads.
 * - Threads are kept from one line to the next, so that none is measured making its own buffers; CPU time, since
 *          many threads share whatever processors there are.
 */
#ifndef PYUSDT_BENCH_THREADS_H
#define PYUSDT_BENCH_THREADS_H

#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define MAX_THREADS 16

static void fire(unsigned long n);

struct worker {
    pthread_t thread;
    pthread_barrier_t begin, end; /* of this thread and main's */
    unsigned long n;
    uint64_t took;
};

static struct worker workers[MAX_THREADS];

static uint64_t cpu_time(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *work(void *arg)
{
    struct worker *worker = arg;

    for (;;) {
        uint64_t start;

        pthread_barrier_wait(&worker->begin);
        start = cpu_time();
        fire(worker->n);
        worker->took = cpu_time() - start;
        pthread_barrier_wait(&worker->end);
    }
    return NULL;
}

/* Until orders end. 0, or 1 for an order that can not be done. */
static int serve(FILE *orders, FILE *answers)
{
    unsigned nworkers = 0, threads;
    unsigned long n;

    while (fscanf(orders, "%u %lu", &threads, &n) == 2) {
        uint64_t total = 0;

        if (threads < 1 || threads > MAX_THREADS)
            return 1;
        if (threads == 1 && nworkers == 0) { /* a process of one thread */
            uint64_t start = cpu_time();

            fire(n);
            fprintf(answers, "%" PRIu64 "\n", cpu_time() - start);
            fflush(answers);
            continue;
        }
        for (; nworkers < threads; nworkers++) {
            pthread_barrier_init(&workers[nworkers].begin, NULL, 2);
            pthread_barrier_init(&workers[nworkers].end, NULL, 2);
            if (pthread_create(&workers[nworkers].thread, NULL, work, &workers[nworkers]) != 0)
                return 1;
        }
        for (unsigned i = 0; i < threads; i++) {
            workers[i].n = n;
            pthread_barrier_wait(&workers[i].begin);
        }
        for (unsigned i = 0; i < threads; i++) {
            pthread_barrier_wait(&workers[i].end);
            total += workers[i].took;
        }
        fprintf(answers, "%" PRIu64 "\n", total / threads);
        fflush(answers);
    }
    return 0;
}

#endif
