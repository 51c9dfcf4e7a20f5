/* The lines that pydtrace prints for run.py's PRINTF, written by fprintf: to the file named, on the orders of threads.h. */
#include "../threads.h"

static FILE *out;

static void fire(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        fprintf(out, "%d %d %s\n", 1, 2, "a");
    fflush(out);
}

int main(int argc, char **argv)
{
    out = argc == 2 ? fopen(argv[1], "w") : NULL;
    return out ? serve(stdin, stdout) : 1;
}
