/*
 * Counts every signal of a timer at 1 kHz, and every queued one, in a program that runs: none may be lost or doubled.
 *
 * - SIGALRM: a timer's expiration that finds its signal still pending is an overrun, which the next signal says. So the
 *   handled signals and their overruns are all expirations, and the clock says how many there were.
 * - A queued signal waits for each one before it: as many are handled as were sent.
 * - Python's own handler of SIGALRM is called, too. The sender is a thread that Python does not know.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD = 1000000 }; /* nanoseconds */

static struct sigaction before;
static atomic_llong alarms, sent, handled;
static atomic_int is_done;
static long long begun;
static timer_t timer;
static pthread_t sender;

static long long now(void)
{
    struct timespec is;

    clock_gettime(CLOCK_MONOTONIC, &is);
    return (long long)is.tv_sec * 1000000000 + is.tv_nsec;
}

static void count_alarm(int number, siginfo_t *info, void *context)
{
    (void)context;
    alarms += 1 + info->si_overrun;
    if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
}

static void count_queued(int number)
{
    (void)number;
    handled++;
}

static void *send(void *nothing)
{
    struct timespec period = {0, PERIOD};

    while (!is_done) {
        sent++;
        if (sigqueue(getpid(), SIGRTMIN + 5, (union sigval){0}) != 0) /* the queue is full */
            sent--;
        nanosleep(&period, NULL);
    }
    return nothing;
}

/* 0, or an errno. */
int start_signals(void)
{
    struct sigaction alarm = {.sa_sigaction = count_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
    struct sigaction queued = {.sa_handler = count_queued, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec when = {{0, PERIOD}, {0, 0}};

    if (sigaction(SIGALRM, &alarm, &before) != 0 || sigaction(SIGRTMIN + 5, &queued, NULL) != 0 ||
        timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return errno;
    begun = now() + PERIOD;
    when.it_value = (struct timespec){begun / 1000000000, begun % 1000000000};
    if (timer_settime(timer, TIMER_ABSTIME, &when, NULL) != 0)
        return errno;
    return pthread_create(&sender, NULL, send, NULL);
}

/* Expirations that were not handled yet; one that was lost is missing for ever. < 0: more were handled than there were. */
long long missing_alarms(void)
{
    long long counted = alarms;

    return now() < begun ? 0 : (now() - begun) / PERIOD + 1 - counted;
}

/* The same of queued signals. */
long long missing_queued(void)
{
    long long counted = handled;

    return sent - counted;
}

long long count_signals(void)
{
    return alarms + handled;
}

/* Ends both. Then missing_queued() is 0 after a moment. */
void stop_signals(void)
{
    timer_delete(timer);
    is_done = 1;
    pthread_join(sender, NULL);
}
