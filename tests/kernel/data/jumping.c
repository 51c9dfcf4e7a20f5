/* Waits for a line each, jumps four times with the values 1 to 4, and sets a limit of malloc's: libc's own probes. */
#include <malloc.h>
#include <setjmp.h>
#include <stdio.h>

int main(void)
{
    char line[16];
    static jmp_buf place;
    static volatile int value;

    while (fgets(line, sizeof line, stdin)) {
        value = setjmp(place);
        if (value < 4)
            longjmp(place, value + 1);
        mallopt(M_TRIM_THRESHOLD, 123456);
        printf("jumped\n");
        fflush(stdout);
    }
    return 0;
}
