/* Loads the library that its argument names once it has read a line, and calls its fire() for each further one. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char line[16];
    void (*fire)(void) = NULL;

    while (fgets(line, sizeof line, stdin)) {
        if (fire) {
            fire();
        } else {
            void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
            fire = library ? (void (*)(void))dlsym(library, "fire") : NULL;
            if (!fire)
                return 1;
        }
        printf("ready\n");
        fflush(stdout);
    }
    return 0;
}
