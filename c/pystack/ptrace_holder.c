/* See ptrace_holder.h.  The child calls only what a forked child of a threaded program may call. */
#define _GNU_SOURCE
#include "pystack/ptrace_holder.h"

#include <errno.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

enum {
    MILLISECOND = 1000000, /* nanoseconds */
    LATE = 5,              /* milliseconds between checks of threads that have yet to stop */
    ANSWERS = 2 * PYUSDT_HOLDER_LIMIT, /* milliseconds in which it answers */
    STARTS = 2000,                     /* milliseconds in which it has started */
    KILLED = PYUSDT_HOLDER_LIMIT /
        2, /* milliseconds after a thread was to be released, until the kernel kills the holder */
    NONE = -1,
};

static const int64_t LIMIT = (int64_t)PYUSDT_HOLDER_LIMIT * MILLISECOND;

/* What both processes see: a request, and in its place the answer. */
struct exchange {
    bool stops; /* else go on */
    uint32_t n;
    struct pyusdt_stopped threads[PYUSDT_STOP_MAX];
};

struct pyusdt_holder {
    pid_t pid, tracer;
    int socket;
    struct exchange *exchange;
};

/* ---- the child ---- */

struct child {
    int socket, tracer; /* a descriptor of the tracer's process */
    int killer;         /* the number of the kernel's timer */
    struct exchange *exchange;
    struct pyusdt_holds holds;
};

/* Where the control groups that can freeze or starve the tracer usually are: version 2, alone and beside version 1, and version 1. */
static const char *const groups[] = {
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/unified/cgroup.procs",
    "/sys/fs/cgroup/freezer/cgroup.procs",
    "/sys/fs/cgroup/cpu/cgroup.procs",
    "/sys/fs/cgroup/cpu,cpuacct/cgroup.procs",
};

static void leave_groups(void)
{
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        int fd = open(groups[i], O_WRONLY | O_CLOEXEC);

        if (fd < 0)
            continue;
        if (write(fd, "0", 1) !=
            1) /* the process that writes; without the right it stays where it is */
            errno = 0;
        close(fd);
    }
}

static void raise_priority(void)
{
    struct sched_param first = {.sched_priority = 1}, none = {0};

    if (sched_setscheduler(0, SCHED_FIFO, &first) == 0)
        return;
    sched_setscheduler(0, SCHED_OTHER, &none);
    for (int nice = -20; nice < 19 && setpriority(PRIO_PROCESS, 0, nice) != 0; nice++)
        ;
}

void pyusdt_holder_stand_apart(void)
{
    leave_groups();
    raise_priority();
}

/* Other descriptors may be the end of a pipe, which another process waits to see closed. */
static void close_others(int kept, int also)
{
    unsigned int low = (unsigned int)(kept < also ? kept : also),
                 high = (unsigned int)(kept < also ? also : kept);
    struct rlimit most;

    if ((low == 0 || syscall(SYS_close_range, 0, low - 1, 0) == 0) &&
        (high == low + 1 || syscall(SYS_close_range, low + 1, high - 1, 0) == 0) &&
        syscall(SYS_close_range, high + 1, ~0U, 0) == 0)
        return;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur > 1 << 20)
        most.rlim_cur = 1 << 20;
    for (unsigned int fd = 0; fd < most.rlim_cur; fd++)
        if (fd != low && fd != high)
            close((int)fd);
}

/* Nanoseconds until the first thread is to be released.  One that has yet to stop may do so now. */
static int64_t nanoseconds_left(const struct child *child)
{
    int64_t now = pyusdt_holds_now(), least = LIMIT;

    for (uint32_t i = 0; i < child->holds.n; i++) {
        const struct pyusdt_hold *hold = &child->holds.hold[i];

        if (hold->stands && hold->until - now < least)
            least = hold->until - now;
    }
    return least > 0 ? least : 0;
}

/* A SIGKILL of the kernel's ends this process, though it is stopped, after its threads were to be released. */
static bool arm_kill_timer(const struct child *child, bool holds)
{
    int64_t until = nanoseconds_left(child) + (int64_t)KILLED * MILLISECOND;
    struct itimerspec when = {{0, 0}, {0, 0}};

    if (holds)
        when.it_value = (struct timespec){until / 1000000000, until % 1000000000};
    return syscall(SYS_timer_settime, child->killer, 0, &when, NULL) == 0;
}

static bool make_killer(struct child *child)
{
    struct sigevent event;
    int number = 0;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &number) != 0)
        return false;
    child->killer = number;
    return true;
}

/* Milliseconds for which nothing has to be done. */
static int poll_timeout(const struct child *child)
{
    int64_t least = nanoseconds_left(child);

    if (child->holds.n == 0)
        return NONE;
    for (uint32_t i = 0; i < child->holds.n; i++)
        if (!child->holds.hold[i].stands)
            return LATE;
    return (int)((least + MILLISECOND - 1) / MILLISECOND);
}

static bool answer_request(struct child *child)
{
    struct exchange *exchange = child->exchange;
    char byte;

    if (read(child->socket, &byte, 1) != 1)
        return false;
    if (exchange->stops)
        pyusdt_holds_stop(&child->holds, exchange->threads, exchange->n, LIMIT);
    else
        pyusdt_holds_resume(&child->holds, exchange->threads, exchange->n);
    return send(child->socket, "", 1, MSG_NOSIGNAL) == 1;
}

static void run_holder(struct child *child)
{
    struct pollfd watched[] = {{.fd = child->socket, .events = POLLIN},
                               {.fd = child->tracer, .events = POLLIN}};
    bool goes_on = send(child->socket, "", 1, MSG_NOSIGNAL) == 1;

    while (goes_on && arm_kill_timer(child, child->holds.n > 0)) {
        if (poll(watched, 2, poll_timeout(child)) < 0 && errno != EINTR)
            break;
        goes_on = !watched[1].revents && pyusdt_holds_check(&child->holds, LIMIT);
        if (goes_on && watched[0].revents)
            goes_on = arm_kill_timer(child, true) && answer_request(child);
    }
    pyusdt_holds_end(&child->holds);
}

static void reset_signals(void)
{
    struct sigaction is;

    for (int number = 1; number < NSIG;
         number++) /* SIGCHLD as well: if it were ignored, the end of a thread would be lost */
        if (sigaction(number, NULL, &is) == 0 && (is.sa_handler != SIG_IGN || number == SIGCHLD))
            signal(number, SIG_DFL);
}

/* All signals stay blocked. */
static void run_child(int socket, struct exchange *exchange, pid_t tracer)
{
    static struct child child; /* in this process it is the only one */

    child = (struct child){
        .socket = socket, .exchange = exchange, .tracer = (int)syscall(SYS_pidfd_open, tracer, 0)};
    reset_signals();
    setsid();
    if (child.tracer < 0 || getppid() != tracer)
        return;
    close_others(socket, child.tracer);
    prctl(PR_SET_NAME, "pyusdt-hold");
    pyusdt_holder_stand_apart();
    if (make_killer(&child))
        run_holder(&child);
}

/* ---- the tracer's side ---- */

/* Waits until it has answered. */
static int await_answer(const struct pyusdt_holder *holder, int milliseconds)
{
    int64_t until = pyusdt_holds_now() + (int64_t)milliseconds * MILLISECOND;
    struct pollfd heard = {.fd = holder->socket, .events = POLLIN};
    char byte;
    int r;

    do {
        int64_t left = until - pyusdt_holds_now();
        r = poll(&heard, 1, left > 0 ? (int)(left / MILLISECOND) + 1 : 0);
    } while (r < 0 && errno == EINTR);
    if (r <= 0)
        return r < 0 ? -errno : -ETIMEDOUT;
    return recv(holder->socket, &byte, 1, 0) == 1 ? 0 : -EPIPE;
}

static int send_request(const struct pyusdt_holder *holder, bool stops,
                        struct pyusdt_stopped *threads, size_t n)
{
    int r;

    if (n > PYUSDT_STOP_MAX)
        return -E2BIG;
    holder->exchange->stops = stops;
    holder->exchange->n = (uint32_t)n;
    memcpy(holder->exchange->threads, threads, n * sizeof *threads);
    if (send(holder->socket, "", 1, MSG_NOSIGNAL) != 1)
        return -EPIPE;
    r = await_answer(holder, ANSWERS);
    if (r == 0)
        memcpy(threads, holder->exchange->threads, n * sizeof *threads);
    return r;
}

int pyusdt_holder_stop(struct pyusdt_holder *holder, struct pyusdt_stopped *threads, size_t n)
{
    return send_request(holder, true, threads, n);
}

int pyusdt_holder_go_on(struct pyusdt_holder *holder, struct pyusdt_stopped *threads, size_t n)
{
    return send_request(holder, false, threads, n);
}

pid_t pyusdt_holder_pid(const struct pyusdt_holder *holder)
{
    return holder->pid;
}

bool pyusdt_holder_is_own(const struct pyusdt_holder *holder)
{
    return holder->tracer == getpid();
}

void pyusdt_holder_end(struct pyusdt_holder *holder)
{
    if (holder->pid > 0 && pyusdt_holder_is_own(holder)) {
        kill(holder->pid, SIGKILL);
        while (waitpid(holder->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (holder->socket >= 0)
        close(holder->socket);
    if (holder->exchange)
        munmap(holder->exchange, sizeof *holder->exchange);
    free(holder);
}

/* No handler of the tracer's runs in the child. */
static int fork_child(struct pyusdt_holder *holder, int socket)
{
    sigset_t all, mask;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    holder->pid = fork();
    if (holder->pid == 0) {
        run_child(socket, holder->exchange, holder->tracer);
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return holder->pid < 0 ? -errno : 0;
}

int pyusdt_holder_start(struct pyusdt_holder **out)
{
    struct pyusdt_holder *holder = calloc(1, sizeof *holder);
    int ends[2], r;

    if (!holder)
        return -ENOMEM;
    holder->tracer = getpid();
    holder->socket = -1;
    holder->exchange = mmap(NULL, sizeof *holder->exchange, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (holder->exchange == MAP_FAILED) {
        holder->exchange = NULL;
        r = -errno;
    } else if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        r = -errno;
    } else {
        holder->socket = ends[0];
        r = fork_child(holder, ends[1]);
        close(ends[1]);
    }
    if (r == 0)
        r = await_answer(holder, STARTS);
    if (r == 0)
        *out = holder;
    else
        pyusdt_holder_end(holder);
    return r;
}

#else

void pyusdt_holder_stand_apart(void)
{
}

#endif
