/* Waits for a line or the seconds of its argument, then fires choice:::hit three times: a thread's own number, a double and a float. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sdt.h>
#include <unistd.h>

static __thread int own = 33;
static double prices[] = {1.5, 2.5};

int main(int argc, char **argv)
{
    volatile double *price = prices;
    volatile int line = argc > 1 ? (int)sleep((unsigned)atoi(argv[1])) : getchar();

    own += argc;
    for (int i = 0; i < 3; i++) {
        DTRACE_PROBE2(choice, hit, own, line);
        DTRACE_PROBE1(choice, price, price[i % 2]);
    }
    sleep(1);
    return 0;
}
