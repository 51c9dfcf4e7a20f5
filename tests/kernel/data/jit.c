/* Calls a function with a probe from code that it has made itself, and tells the name of that in /tmp/perf-PID.map as
 * just-in-time compilers do. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <unistd.h>

__attribute__((noinline)) void nothing(void)
{
    __asm__ volatile(""); /* what has an effect is called */
}

__attribute__((noinline)) void fire(void)
{
    nothing(); /* so that it has a frame */
    STAP_PROBE1(jit, here, 1);
}

int main(void)
{
    /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    char path[64];
    void *made =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return 1;
    memcpy(made, code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    if (!map)
        return 1;
    fprintf(map, "no line of a map\n%lx %zx py::handler:/srv/app.py\n", (unsigned long)made,
            sizeof code);
    fclose(map);
    ((void (*)(void (*)(void)))made)(fire);
    printf("done\n");
    fflush(stdout);
    while (getchar() > 0) {}
    unlink(path);
    return 0;
}
