/* Waits for lines; for each a child is forked whose children (grandchildren) work and are over at once: argument 1 of a probe is its generation.
 * No frame pointers are needed to be there. */
#include <stdio.h>
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) int deepest(int generation)
{
    STAP_PROBE1(forking, work, generation);
    return generation + 1;
}

static __attribute__((noinline)) int middle(int generation)
{
    volatile char room[200] = {0};
    return deepest(generation) + room[generation];
}

int main(void)
{
    setvbuf(stdout, 0, _IOLBF, 0);
    puts("ready");
    while (getchar() != EOF) {
        if (!fork()) {
            middle(1);
            if (!fork()) {
                middle(2);
                _exit(0);
            }
            wait(0);
            _exit(0);
        }
        wait(0);
        puts("over");
    }
    return 0;
}
