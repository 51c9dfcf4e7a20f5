/* Built without frame pointers. The program loads a library (argv[1]) when it has its first line; the library's functions call back what
 * waits for the next. With -DLIBRARY it is the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef LIBRARY
__attribute__((noinline)) int later_inner(int (*waits)(void))
{
    volatile char room[900];
    room[0] = (char)waits();
    return room[0];
}

int later(int (*waits)(void))
{
    _Alignas(64) volatile char aligned[128];
    aligned[1] = (char)later_inner(waits);
    return aligned[1];
}
#else
static char line[64];

__attribute__((noinline)) int waits(void)
{
    ssize_t size = read(0, line, sizeof line);
    if (size <= 0)
        exit(0);
    return (int)size;
}

int main(int argc, char **argv)
{
    printf("ready\n");
    fflush(stdout);
    void *library = waits() && argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*later)(int (*)(void)) = library ? (int (*)(int (*)(void)))dlsym(library, "later") : NULL;
    if (!later)
        return 1;
    for (int sum = 0;; sum++)
        sum += later(waits);
}
#endif
