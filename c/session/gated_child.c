/* See gated_child.h. The child calls only what a forked child of a threaded program may call. */
#define _GNU_SOURCE
#include "session/gated_child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

extern char **environ;

static bool read_all(int fd, void *to, size_t size)
{
    char *at = to;

    while (size > 0) {
        const ssize_t n = read(fd, at, size);
        if (n <= 0 && !(n < 0 && errno == EINTR))
            return false;
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        }
    }
    return true;
}

static void *map_memory(size_t size)
{
    void *found = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return found == MAP_FAILED ? NULL : found;
}

/* Do `name=value` and `other=value` set the same variable? */
static bool same_variable(const char *a, const char *b)
{
    const size_t size = strcspn(a, "=");

    return strncmp(a, b, size) == 0 && b[size] == '=';
}

static bool is_set(char *const *variables, size_t n, const char *other)
{
    for (size_t i = 0; i < n; i++)
        if (same_variable(variables[i], other))
            return true;
    return false;
}

/* The environment with the variables of `text` before what there is of others; NULL: no memory. */
static char **with_variables(char *text, size_t size)
{
    size_t new = 0, old = 0;
    char **made;

    for (size_t i = 0; i < size; i++)
        new += text[i] == '\0';
    while (environ && environ[old])
        old++;
    made = map_memory((new + old + 1) * sizeof(*made));
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < new; i++, text += strlen(text) + 1)
        made[i] = text;
    for (size_t i = 0, n = new; i < old; i++)
        if (!is_set(made, new, environ[i]))
            made[n++] = environ[i];
    return made;
}

/* No handler of the parent's runs here; SIGINT, SIGTERM and what Python ignores for itself are the command's again. */
static void reset_signals(void)
{
    struct sigaction is;

    for (int number = 1; number < NSIG; number++) {
        if (sigaction(number, NULL, &is) != 0)
            continue;
        if (is.sa_handler != SIG_IGN || number == SIGINT || number == SIGTERM ||
            number == SIGPIPE || number == SIGXFSZ)
            signal(number, SIG_DFL);
    }
}

static void report_errno_and_exit(int fd, int error)
{
    char text[16];
    const int size = snprintf(text, sizeof(text), "%d", error);

    while (write(fd, text, (size_t)size) < 0 && errno == EINTR)
        ;
}

static void become_command(char *const *argv, const struct pyusdt_gate *gate, const sigset_t *mask)
{
    uint32_t size;
    char *text;

    reset_signals();
    close(gate->parent[0]);
    close(gate->parent[1]);
    if (!read_all(gate->child[0], &size, sizeof(size)))
        return;
    text = map_memory(size + 1);
    if (text == NULL || !read_all(gate->child[0], text, size))
        return;
    environ = with_variables(text, size);
    sigprocmask(SIG_SETMASK, mask, NULL);
    if (environ)
        execvp(argv[0], argv);
    report_errno_and_exit(gate->child[1], environ ? errno : ENOMEM);
}

pid_t pyusdt_gated_fork(char *const *argv, const struct pyusdt_gate *gate)
{
    const pid_t parent = getpid();
    sigset_t all, mask;
    pid_t pid;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all,
                    &mask); /* until the child has none of the parent's handlers */
    pid = fork();
    if (pid == 0) {
#ifdef __linux__
        if (!gate->dies_alone && (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent))
            _exit(127);
#endif
        become_command(argv, gate, &mask);
        _exit(127);
    }
    (void)parent;
    if (pid < 0)
        pid = -errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return pid;
}
