/* Fires tea:::work in itself (0), a forked child (1), that one's (2), and has a child become the program that is named. */
#include <sys/sdt.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    DTRACE_PROBE1(tea, work, argc > 1 ? 0 : 77);
    if (argc > 1 && fork() == 0) {
        DTRACE_PROBE1(tea, work, 1);
        if (fork() == 0) {
            DTRACE_PROBE1(tea, work, 2);
            _exit(0);
        }
        wait(NULL);
        execl(argv[1], argv[1], (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    return 0;
}
