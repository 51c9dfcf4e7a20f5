/* The Linux part of os.h. */
#if defined(__linux__)
#define _GNU_SOURCE
#include "shared/os.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/magic.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifdef PYUSDT_NO_OPENAT2 /* for testing */
#define OPENAT2 -1
#else
#define OPENAT2 437 /* and its flags: of every architecture */
#endif
#define NO_XDEV 1
#define NO_SYMLINKS 4
#ifdef SYS_setgroups32 /* the other is of 16 bits there */
#define SETGROUPS SYS_setgroups32
#else
#define SETGROUPS SYS_setgroups
#endif
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint32_t pyusdt_os_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

bool pyusdt_os_has_thread_ended(uint32_t tid)
{
    /* EINVAL: that is no thread's number */
    return syscall(SYS_tgkill, getpid(), tid, 0) != 0 && (errno == ESRCH || errno == EINVAL);
}

bool pyusdt_os_has_barrier(void)
{
    long can = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return can > 0 && (can & MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

bool pyusdt_os_barrier_join(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0;
}

void pyusdt_os_barrier(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/* A page beyond the end of a truncated file is no shared memory any more: EFAULT. */
void pyusdt_os_word_wait(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds)
{
    const struct timespec most = {milliseconds / 1000, milliseconds % 1000 * 1000000l};

    if (syscall(SYS_futex, word, FUTEX_WAIT, seen, &most, NULL, 0) != 0 && errno != EAGAIN &&
        errno != EINTR && errno != ETIMEDOUT)
        pyusdt_os_word_poll(word, seen, milliseconds);
}

void pyusdt_os_word_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

char *pyusdt_os_thread_stack(size_t *size)
{
    pthread_attr_t attributes;
    void *lowest = NULL;

    *size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return NULL;
    if (pthread_attr_getstack(&attributes, &lowest, size) != 0) {
        lowest = NULL;
        *size = 0;
    }
    pthread_attr_destroy(&attributes);
    return lowest;
}

void pyusdt_os_name_thread(const char *name)
{
    prctl(PR_SET_NAME, name);
}

bool pyusdt_os_is_secure_exec(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* A field of /proc/PID/stat, of which `at` is in field 2. */
static const char *find_field(const char *at, int wanted)
{
    for (int field = 2; at && field < wanted; field++)
        at = strchr(at + 1, ' ');
    return at ? at + 1 : "";
}

/* Not /proc/self/stat: in it qemu's user emulation shows when the calling thread began, not the
 * process. */
static int open_stat(uint32_t pid)
{
    const uint32_t own = (uint32_t)getpid();
    char path[48];
    int fd = -1;

    if (pid == 0 || pid == own) {
        snprintf(path, sizeof path, "/proc/self/task/%u/stat", own);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) { /* of another process, or /proc is of another pid namespace */
        snprintf(path, sizeof path, "/proc/%u/stat", pid);
        fd = open(pid == 0 ? "/proc/self/stat" : path, O_RDONLY | O_CLOEXEC);
    }
    return fd;
}

/* Fields 3, 4, 20 and 22: state, parent, threads, start. The first thread of a process is a
 * zombie, too, when it has ended before others. */
int pyusdt_os_read_process(uint32_t pid, struct pyusdt_os_process *process)
{
    char text[1024];
    const char *name, *state;
    ssize_t n;
    int fd;

    *process = (struct pyusdt_os_process){0, 0, false};
    fd = open_stat(pid);
    if (fd < 0)
        return -errno;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return n < 0 ? -errno : -ESRCH;
    text[n] = '\0';
    name = strrchr(text, ')'); /* the name in parentheses may hold anything */
    state = find_field(name, 3);
    process->ended =
        *state == 'X' || (*state == 'Z' && strtoul(find_field(name, 20), NULL, 10) <= 1);
    process->parent = (uint32_t)strtoul(find_field(name, 4), NULL, 10);
    process->starttime = strtoull(find_field(name, 22), NULL, 10);
    return 0;
}

bool pyusdt_os_has_process_info(void)
{
    return access("/proc/self/stat", R_OK) == 0;
}

uint64_t pyusdt_os_pidns(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

void pyusdt_os_program_name(char *name, size_t size)
{
    ssize_t length = 0;
    int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        length = read(fd, name, size - 1);
        close(fd);
    }
    name[length > 0 ? length - 1 : 0] = '\0'; /* in the place of its newline */
}

/* The capabilities in force of the calling thread: the former ones, and the new ones if not NULL.
 */
static bool swap_capabilities(uint32_t previous[2], const uint32_t wanted[2])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        previous[i] = data[i].effective;
        data[i].effective = wanted ? wanted[i] : previous[i];
    }
    return !wanted || syscall(SYS_capset, &header, data) == 0;
}

/* The C library's setgroups() and its like are of the whole process; these system calls are of
 * one thread, as setfsuid() is. Back at its own uid a thread has some capabilities again, and
 * needs them all for its groups. */
void pyusdt_os_fsuid_restore(const struct pyusdt_os_credentials *self)
{
    uint32_t previous[2];

    setfsuid(self->uid);
    swap_capabilities(previous, self->effective);
    setfsgid(self->gid);
    syscall(SETGROUPS, self->ngroups, self->groups);
    prctl(PR_SET_PDEATHSIG, self->death_signal); /* the change of user has cleared both */
    if (self->dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1);
}

bool pyusdt_os_fsuid_set(uint32_t uid, uint32_t gid, struct pyusdt_os_credentials *self)
{
    static const uint32_t none[2];
    uint32_t previous[2];

    _Static_assert(sizeof(gid_t) == sizeof self->groups[0], "groups");
    self->dumpable = prctl(PR_GET_DUMPABLE);
    self->ngroups = getgroups(PYUSDT_OS_GROUPS, self->groups);
    if (self->ngroups < 0 || !swap_capabilities(self->effective, NULL) ||
        prctl(PR_GET_PDEATHSIG, &self->death_signal) != 0 || syscall(SETGROUPS, 0, NULL) != 0)
        return false;
    self->gid = (uint32_t)setfsgid(gid);
    self->uid = (uint32_t)setfsuid(uid);
    if (swap_capabilities(previous, none) && (uint32_t)setfsuid((uid_t)-1) == uid &&
        (uint32_t)setfsgid((gid_t)-1) == gid)
        return true;
    pyusdt_os_fsuid_restore(self);
    return false;
}

/* The calling thread has no capabilities but these, if it has them now. Whether any is left. */
static bool keep_capabilities(const uint32_t kept[2])
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    uint32_t before = 0, after = 0;

    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    for (int i = 0; i < 2; i++) {
        before |= (data[i].permitted & ~kept[i]) | data[i].inheritable;
        data[i].effective &= kept[i];
        after |= data[i].permitted &= kept[i];
        data[i].inheritable = 0;
    }
    if (before != 0)
        syscall(SYS_capset, &header, data); /* ambient ones go with those that are inheritable */
    return after != 0;
}

bool pyusdt_os_drop_rights(void)
{
    static const uint32_t kept[2] = {1u << CAP_SETUID | 1u << CAP_SETGID, 0};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return keep_capabilities(kept);
}

bool pyusdt_os_drop_rights_like_main_thread(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, getpid()};
    struct __user_cap_data_struct first[2];

    if (prctl(PR_GET_SECCOMP) != 0)
        return false;
    return syscall(SYS_capget, &header, first) != 0 ||
           keep_capabilities((const uint32_t[2]){first[0].permitted, first[1].permitted});
}

bool pyusdt_os_wipe_on_fork(void *at, size_t size)
{
    return madvise(at, size, MADV_WIPEONFORK) == 0;
}

void pyusdt_os_discard(void *at, size_t size)
{
    madvise(at, size, MADV_REMOVE);
}

void pyusdt_os_discard_file(int fd, uint64_t size)
{
    (void)!fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size);
}

int pyusdt_os_allocate(int fd, uint64_t at, uint64_t size)
{
    int r = pyusdt_os_file_limit(at + size);

    if (r != 0)
        return r;
    do
        r = posix_fallocate(fd, (off_t)at, (off_t)size);
    while (r == EINTR);
    return -r;
}

int pyusdt_os_populate(void *at, uint64_t size)
{
    if (madvise(at, size, MADV_POPULATE_WRITE) == 0)
        return 0;
    return errno == EINVAL ? -ENOTSUP : errno == EFAULT ? -ENOSPC : -errno;
}

int pyusdt_os_each_name(int dir, int (*fn)(void *arg, const char *name), void *arg)
{
    struct entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(8) char buffer[4096];

    if (lseek(dir, 0, SEEK_SET) < 0)
        return -errno;
    for (;;) {
        long n = syscall(SYS_getdents64, dir, buffer, sizeof buffer);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        for (long at = 0; at < n;) {
            const struct entry *entry = (const struct entry *)(const void *)(buffer + at);
            at += entry->length;
            if (fn(arg, entry->name) != 0)
                return 0;
        }
    }
}

bool pyusdt_os_is_in_memory(int dir)
{
    struct statfs fs;
    return fstatfs(dir, &fs) == 0 && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC);
}

int pyusdt_os_open_in(int dir, const char *name, int flags, unsigned mode)
{
    const int safe = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    const struct { /* struct open_how, which older headers do not have */
        uint64_t flags, mode, resolve;
    } how = {(uint64_t)(flags | safe), mode, NO_XDEV | NO_SYMLINKS};
    int fd = (int)syscall(OPENAT2, dir, name, &how, sizeof how);

    if (fd >= 0 || (errno != ENOSYS &&
                    errno != EPERM)) /* before Linux 5.6; in a sandbox that has not heard of it */
        return fd < 0 ? -errno : fd;
    fd = openat(dir, name, flags | safe, mode);
    return fd < 0 ? -errno : fd;
}

int pyusdt_os_open_unnamed(void)
{
    int fd = memfd_create("pyusdt", MFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int pyusdt_os_random(void *bytes, size_t size)
{
    return getrandom(bytes, size, 0) == (ssize_t)size ? 0 : -EIO;
}

#endif
