/* See wake_socket.h. */
#define _GNU_SOURCE
#include "attach/wake_socket.h"

#include <errno.h>

#ifdef __linux__

#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

static int borrow_descriptor(pid_t pid, int fd)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0), borrowed;

    if (process < 0)
        return -errno;
    borrowed = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
    borrowed = borrowed < 0 ? -errno : borrowed;
    close(process);
    return borrowed;
}

static bool has_option(int fd, int option, int wanted)
{
    int value = 0;
    socklen_t size = sizeof value;

    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

static bool is_own_pair(int fd, pid_t pid)
{
    struct ucred maker = {0, 0, 0};
    socklen_t size = sizeof maker;

    return has_option(fd, SO_DOMAIN, AF_UNIX) && has_option(fd, SO_TYPE, SOCK_STREAM) &&
           getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &size) == 0 && maker.pid == pid;
}

/* In the child: setresuid() of libc's would wait for the tracer's other threads. */
static void send_as(int fd, uint32_t uid, uint32_t gid)
{
    const char nothing = '\0';

    if ((getuid() == uid && geteuid() == uid) ||
        (syscall(SYS_setgroups, 0, NULL) == 0 && syscall(SYS_setresgid, gid, gid, gid) == 0 &&
         syscall(SYS_setresuid, uid, uid, uid) == 0))
        _exit(send(fd, &nothing, 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 ? 0 : errno & 0x7f);
    _exit(EPERM);
}

int pyusdt_wake_socket(pid_t pid, int fd, uint32_t uid, uint32_t gid)
{
    sigset_t all, mask;
    int socket = borrow_descriptor(pid, fd), status = 0;
    pid_t child;

    if (socket < 0)
        return socket;
    if (!is_own_pair(socket, pid)) {
        close(socket);
        return -EINVAL;
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    child = fork();
    if (child == 0)
        send_as(socket, uid, gid);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(socket);
    if (child < 0)
        return -EAGAIN;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

#else

int pyusdt_wake_socket(pid_t pid, int fd, uint32_t uid, uint32_t gid)
{
    (void)pid, (void)fd, (void)uid, (void)gid;
    return -ENOSYS;
}

#endif
