/* See inject.h. */
#define _GNU_SOURCE
#include "attach/inject.h"

#include <errno.h>

#ifdef __linux__

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach_hook.h"
#include "attach/stop_process.h"
#include "pystack/ptrace_holder.h"

/* What both processes see. */
struct exchange {
    enum pyusdt_injection what;
    int limit;
    struct pyusdt_ring_target target;
    struct pyusdt_image image;
    struct pyusdt_injected injected;
    bool is_done;
    struct pyusdt_stopped_process process;
};

int pyusdt_image_read(pid_t pid, struct pyusdt_image *image)
{
    enum { STATE = 3, START_CODE = 26, START_STACK = 28, START_BRK = 47 }; /* as proc(5) counts */
    char path[64], text[2048], *at;
    ssize_t got;

    *image = (struct pyusdt_image){0, 0, 0};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    got = pyusdt_proc_read(path, text, sizeof text);
    if (got < 0)
        return (int)got;
    at = strrchr(text, ')'); /* its name may hold anything */
    for (int field = STATE; at != NULL && field <= START_BRK; field++) {
        at = strchr(at + 1, ' ');
        if (at == NULL)
            break;
        if (field == START_CODE)
            image->start_code = strtoull(at + 1, NULL, 10);
        else if (field == START_STACK)
            image->start_stack = strtoull(at + 1, NULL, 10);
        else if (field == START_BRK)
            image->start_brk = strtoull(at + 1, NULL, 10);
    }
    return at == NULL ? -ESRCH : 0;
}

/* ---- the child ---- */

/* A SIGKILL of the kernel's ends this process with the tracer's thread that waits for it, though it is stopped. */
static void die_with_tracer(pid_t tracer)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != tracer)
        _exit(0);
}

/* A SIGKILL of the kernel's ends this process at that time, though it is stopped. */
static bool arm_kill_timer(void)
{
    struct itimerspec when = {{0, 0}, {0, PYUSDT_INJECT_LIMIT * 1000000}};
    struct sigevent event;
    int number = 0;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &number) == 0 &&
           syscall(SYS_timer_settime, number, 0, &when, NULL) == 0;
}

static void reset_signals(void)
{
    struct sigaction is;

    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &is) == 0 && (is.sa_handler != SIG_IGN || number == SIGCHLD))
            signal(number, SIG_DFL);
}

static bool is_same_image(const struct exchange *exchange)
{
    struct pyusdt_image now;

    return pyusdt_memory_is_same_process(&exchange->target.memory) &&
           pyusdt_image_read(exchange->target.memory.pid, &now) == 0 &&
           memcmp(&now, &exchange->image, sizeof now) == 0;
}

static enum pyusdt_ring_result act(struct exchange *exchange)
{
    struct pyusdt_ring_target *target = &exchange->target;
    enum pyusdt_misfit *misfit = &exchange->injected.misfit;
    enum pyusdt_ring_result r;

    switch (exchange->what) {
    case PYUSDT_INJECT_PUT:
        return pyusdt_ring_put(target, misfit);
    case PYUSDT_INJECT_MEND:
        r = pyusdt_ring_mend(target, misfit);
        if (r == PYUSDT_RING_DONE)
            pyusdt_process_interrupt_wait(&exchange->process);
        return r;
    case PYUSDT_INJECT_WITHDRAW:
        return pyusdt_ring_withdraw(target, misfit);
    }
    return PYUSDT_RING_FAILED;
}

/* All signals stay blocked. */
static void run_child(struct exchange *exchange)
{
    struct pyusdt_injected *injected = &exchange->injected;
    int64_t begun;

    PYUSDT_ATTACH_HOOK(14);
    reset_signals();
    setsid();
    prctl(PR_SET_NAME, "pyusdt-attach");
    if (!arm_kill_timer()) {
        injected->error = -EAGAIN;
        exchange->is_done = true;
        return;
    }
    pyusdt_holder_stand_apart();
    PYUSDT_ATTACH_HOOK(10);
    begun = pyusdt_attach_now();
    injected->error =
        pyusdt_process_stop(exchange->target.memory.pid, exchange->limit, &exchange->process);
    PYUSDT_ATTACH_HOOK(11);
    injected->threads = exchange->process.n;
    injected->late = exchange->process.late;
    injected->late_state = exchange->process.late_state;
    if (injected->error == 0 && !is_same_image(exchange))
        injected->error = -ESTALE;
    if (injected->error == 0)
        injected->result = act(exchange);
    injected->used = exchange->target.used;
    PYUSDT_ATTACH_HOOK(12);
    pyusdt_process_resume(&exchange->process);
    injected->stood = pyusdt_attach_now() - begun;
    PYUSDT_ATTACH_HOOK(13);
    __atomic_store_n(&exchange->is_done, true, __ATOMIC_RELEASE);
}

/* ---- the tracer's side ---- */

/* No handler of the tracer's runs in the child. */
static pid_t fork_child(struct exchange *exchange)
{
    const pid_t tracer = getpid();
    sigset_t all, mask;
    pid_t child;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    child = fork();
    if (child == 0) {
        die_with_tracer(tracer);
        run_child(exchange);
        _exit(0);
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return child < 0 ? -errno : child;
}

int pyusdt_inject(enum pyusdt_injection what, int limit, struct pyusdt_ring_target *target,
                  const struct pyusdt_image *image, struct pyusdt_injected *injected)
{
    struct exchange *exchange =
        mmap(NULL, sizeof *exchange, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int r = 0;

    if (exchange == MAP_FAILED)
        return -errno;
    exchange->what = what;
    exchange->limit = limit;
    exchange->target = *target;
    exchange->image = *image;
    child = fork_child(exchange);
    if (child < 0)
        r = child;
    else
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) /* its timer ends it */
            ;
    if (r == 0 && !__atomic_load_n(&exchange->is_done, __ATOMIC_ACQUIRE))
        r = -EINTR;
    target->used = exchange->target.used;
    target->step = __atomic_load_n(&exchange->target.step, __ATOMIC_SEQ_CST);
    *injected = exchange->injected;
    munmap(exchange, sizeof *exchange);
    return r;
}

#else

int pyusdt_image_read(pid_t pid, struct pyusdt_image *image)
{
    (void)pid;
    *image = (struct pyusdt_image){0, 0, 0};
    return -ENOSYS;
}

int pyusdt_inject(enum pyusdt_injection what, int limit, struct pyusdt_ring_target *target,
                  const struct pyusdt_image *image, struct pyusdt_injected *injected)
{
    (void)what;
    (void)limit;
    (void)target;
    (void)image;
    (void)injected;
    return -ENOSYS;
}

#endif
