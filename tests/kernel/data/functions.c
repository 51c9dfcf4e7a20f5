/* Functions for the pid provider: `functions` calls add8 three times, and strlen once of its own name. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long add8(long a, long b, long c, long d, long e, long f, long g, long h)
{
    __asm__ volatile("");
    return a + b + c + d + e + f + g + h;
}

__attribute__((noinline)) static long hidden(long a)
{
    __asm__ volatile("");
    return -a;
}

int main(void)
{
    long sum = 0;
    for (long i = 0; i < 3; i++)
        sum += add8(i, 1, 2, 3, 4, 5, 6, 7) + hidden(i);
    void *volatile block = malloc(12345);
    free(block);
    printf("%ld\n", sum);
    return 0;
}
