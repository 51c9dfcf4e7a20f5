/* A program that counts what it notices of a tracer: system calls that were interrupted, and signals, which it must not miss.  A thread waits
 * in epoll_wait, which does not start again by itself, one spins; for each line that it is told the program says "interrupted signals". */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>

static atomic_int interrupted, signals, spinning;

static void count(int number)
{
    (void)number;
    signals++;
}

static void *waits(void *nothing)
{
    struct epoll_event event;
    int fd = epoll_create1(0);

    while (epoll_wait(fd, &event, 1, -1) < 0 && errno == EINTR)
        interrupted++;
    return nothing;
}

static void *spins(void *nothing)
{
    sigset_t ours;

    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &ours, NULL);
    spinning = 1;
    for (;;)
        atomic_load(&signals);
    return nothing;
}

int main(void)
{
    pthread_t thread;
    sigset_t all;
    char line[80];

    signal(SIGUSR1, count);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* the thread that spins gets them */
    pthread_create(&thread, NULL, waits, NULL);
    pthread_create(&thread, NULL, spins, NULL);
    while (
        !spinning) /* a thread that has not run yet stands in clone3(), behind the system call, where no table describes the stack */
        sched_yield();
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%d %d\n", interrupted, signals);
        fflush(stdout);
    }
    return 0;
}
