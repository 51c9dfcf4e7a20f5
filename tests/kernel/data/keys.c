/* Fires keys:::hit with each number below the first argument, as often as the second says. */
#include <stdlib.h>
#include <sys/sdt.h>

int main(int argc, char **argv)
{
    long keys = atol(argv[1]), times = argc > 2 ? atol(argv[2]) : 1;

    for (long i = 0; i < keys * times; i++)
        DTRACE_PROBE1(keys, hit, i % keys);
    return 0;
}
