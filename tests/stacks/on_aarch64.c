/* Functions without frame pointers that keep different amounts on the stack, one called back by the C library, one whose frame is found by
 * another register; the innermost stops. */
#include <alloca.h>
#include <stdlib.h>

static volatile int n = 1;

__attribute__((noinline)) void leaf(void)
{
    __asm__ volatile("brk #0");
}

__attribute__((noinline)) int aligned(void)
{
    _Alignas(64) volatile char room[128];
    room[n] = 1;
    leaf();
    return room[n];
}

__attribute__((noinline)) int grows(void)
{
    volatile char *room = alloca(100 * (size_t)n);
    room[n] = (char)aligned();
    return room[n];
}

__attribute__((noinline)) int large(void)
{
    volatile char room[70000];
    room[n] = (char)grows();
    return room[n];
}

static int compares(const void *a, const void *b)
{
    return large() + *(const int *)a + *(const int *)b;
}

__attribute__((noinline)) int sorts(void)
{
    int numbers[2] = {2, n};
    qsort(numbers, 2, sizeof *numbers, compares);
    return numbers[0];
}

int main(void)
{
    return sorts();
}
