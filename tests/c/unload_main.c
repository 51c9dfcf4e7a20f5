/*
 * Loads a library that has probes, fires, and unloads it, again and again: unload_main LIBRARY [watch]
 * Prints how many events fired while somebody traced.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "hook_kill.h"

#define ROUNDS 20

int main(int argc, char **argv)
{
    int fired = 0;

    for (int i = 0; i < ROUNDS; i++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        int (*begin)(int), (*fire)(int);

        if (library == NULL)
            return 1;
        begin = (int (*)(int))dlsym(library, "begin");
        fire = (int (*)(int))dlsym(library, "fire");
        if (begin(argc > 2) < 0)
            return 2;
        for (int k = 0; k < 20; k++) {
            fired += fire(10);
            usleep(1000);
        }
        if (dlclose(library) != 0)
            return 3;
    }
    printf("fired %d\n", fired);
    return 0;
}
