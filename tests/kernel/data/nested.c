/* A probe below three functions, in the executable and behind a library's qsort(): for stacks.  Built with frame
 * pointers, as the kernel walks no others. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>

__attribute__((noinline)) void nothing(void)
{
    __asm__ volatile(""); /* what has an effect is called */
}

__attribute__((noinline)) void innermost(long i)
{
    nothing(); /* a function that calls none has no frame, and its caller's is not seen */
    STAP_PROBE1(nested, here, i);
}

__attribute__((noinline)) void middle(long i)
{
    innermost(i);
    __asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((noinline)) void outermost(long i)
{
    middle(i);
    __asm__ volatile("" ::: "memory");
}

int main(void)
{
    for (long i = 0; i < 3; i++)
        outermost(i);
    middle(3);
    printf("done\n");
    fflush(stdout);
    usleep(200000); /* a tracer sees where its code is */
    return 0;
}
