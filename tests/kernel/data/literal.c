/* Fires literal:::said forty times with a text that the program itself never reads. */
#include <sys/sdt.h>
#include <unistd.h>

int main(void)
{
    for (int i = 0; i < 40; i++) {
        DTRACE_PROBE1(literal, said, "never read");
        usleep(20000);
    }
    return 0;
}
