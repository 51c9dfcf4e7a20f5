/* Built without frame pointers: functions that keep different amounts on the stack, one called back by the C library, one behind a signal,
 * and one whose frame is aligned, which waits for a line. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char line[64];

__attribute__((noinline)) void waits(void)
{
    _Alignas(64) volatile char aligned[64];
    aligned[0] = (char)read(0, line, sizeof line);
    if (aligned[0] <= 0)
        exit(0);
}

__attribute__((noinline)) void handler(int number)
{
    waits();
    __asm__ volatile("" ::"r"(number) : "memory");
}

__attribute__((noinline)) int large(int n)
{
    volatile char room[70000];
    room[n] = 1;
    raise(SIGUSR1);
    return room[n];
}

static int compares(const void *a, const void *b)
{
    return large(*(const int *)a & 7) + *(const int *)b;
}

__attribute__((noinline)) int sorts(void)
{
    int numbers[2] = {2, 1};
    qsort(numbers, 2, sizeof *numbers, compares);
    return numbers[0];
}

int main(void)
{
    signal(SIGUSR1, handler);
    printf("ready\n");
    fflush(stdout);
    for (int sum = 0;; sum++)
        sum += sorts();
}
