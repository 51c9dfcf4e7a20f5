/* Opens the library that is named, and calls its common() now and then. */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    usleep(200000);
    void *library = dlopen(argv[argc - 1], RTLD_NOW);
    int (*common)(int) = (int (*)(int))dlsym(library, "common"), sum = 0;

    for (int i = 0; i < 5; i++) {
        sum += common(i);
        usleep(200000);
    }
    printf("%d\n", sum);
    return 0;
}
