/*
 * Everything that operating systems do differently (os_linux.c, os_macos.c, os_freebsd.c).
 *
 * - If a system lacks something, the comment of the function says what the caller gets instead.
 * - Nothing here allocates memory unless its comment says so. A forked child of a threaded program
 *   may call these functions.
 */
#ifndef PYUSDT_OS_H
#define PYUSDT_OS_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) || defined(__FreeBSD__)
#include <sched.h>
#elif defined(__APPLE__)
#include <pthread.h>
#endif

#ifndef MAP_NORESERVE /* memory that is never touched is not accounted for anyway */
#define MAP_NORESERVE 0
#endif
#ifndef ENODATA
#define ENODATA ENOATTR
#endif

#pragma GCC visibility push(hidden)

/* ---- threads ---- */

/* The calling thread's number, as the system's tools show it; truncated to 32 bits. Never 0. */
uint32_t pyusdt_os_tid(void);

/* Has a thread of this process ended? false if that cannot be found out. */
bool pyusdt_os_has_thread_ended(uint32_t tid);

/* The address at which the kernel writes it each time that the thread has been moved; the C library
 * asks it to, from glibc 2.35 on. Else -1. */
static inline int pyusdt_os_rseq_cpu(void)
{
#if defined(__GLIBC__) && defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
    extern const ptrdiff_t __rseq_offset __attribute__((weak, visibility("default")));
    struct {
        uint32_t cpu_id_start, cpu_id;
    } *rseq_area; /* the first words of the kernel's struct rseq */
    if (&__rseq_offset) {
        rseq_area = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
        return *(volatile int *)&rseq_area->cpu_id; /* if the kernel was not asked: less than 0 */
    }
#endif
#endif
    return -1;
}

/* The lowest byte of the calling thread's stack, and its largest size. NULL and 0: unknown. */
char *pyusdt_os_thread_stack(size_t *size);

/* The processor that runs this; on the hot path. */
static inline unsigned pyusdt_os_cpu(void)
{
#if defined(__APPLE__)
    size_t cpu = 0;
    pthread_cpu_number_np(&cpu);
    return (unsigned)cpu;
#else
    int rseq_area = pyusdt_os_rseq_cpu();
    return (unsigned)(rseq_area >= 0 ? rseq_area : sched_getcpu());
#endif
}

/* Is the caller this process's only thread (except those made without the C library)? false if
 * unknown. On the hot path. */
static inline bool pyusdt_os_is_single_threaded(void)
{
#ifdef __GLIBC__
    extern char __libc_single_threaded
        __attribute__((weak, visibility("default"))); /* since glibc 2.32 */
    return &__libc_single_threaded && __libc_single_threaded;
#else
    return false;
#endif
}

/* ---- barriers ---- */

/* A full barrier that the caller makes every running thread of every process execute that has
 * joined; a thread that does not run has had one. Whether this system can; false if not. */
bool pyusdt_os_has_barrier(void);

/* This process takes part from here on. false: it cannot. */
bool pyusdt_os_barrier_join(void);

void pyusdt_os_barrier(void);

/* ---- waiting ---- */

/* Waits until another process or thread has changed this word in shared memory, whose value was
 * `seen`, and has woken the waiters; for so many milliseconds at most. May return early. If the
 * system cannot do that, polls every 20 ms. */
void pyusdt_os_word_wait(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds);
void pyusdt_os_word_wake(_Atomic uint32_t *word);

/* The same by polling only. */
static inline void pyusdt_os_word_poll(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds)
{
    const struct timespec step = {0, 20000000};

    for (unsigned waited = 0; waited < milliseconds && atomic_load(word) == seen; waited += 20)
        nanosleep(&step, NULL);
}

/* As the system's tools show the calling thread; 15 bytes at most. */
void pyusdt_os_name_thread(const char *name);

/* ---- time ---- */

/* CLOCK_MONOTONIC in ns: the only clock of the protocol; on the hot path. */
static inline uint64_t pyusdt_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- processes ---- */

/* Set-uid, set-gid, or with capabilities of its own: the environment may come from another user
 * than the one the program runs as. */
bool pyusdt_os_is_secure_exec(void);

struct pyusdt_os_process {
    /* in a unit of the system's own; with the pid it names a process for good */
    uint64_t starttime;
    uint32_t parent;
    bool ended; /* a zombie: it has run its last instruction */
};

/* pid 0: the caller. 0, -ESRCH, or -errno if the system does not know. */
int pyusdt_os_read_process(uint32_t pid, struct pyusdt_os_process *process);

/* Whether anything can be found out about processes at all: not if Linux has no /proc. */
bool pyusdt_os_has_process_info(void);

/* A number that identifies the pid namespace; 0 if the system has only one. */
uint64_t pyusdt_os_pidns(void);

/* The program's name, truncated to size - 1 bytes. */
void pyusdt_os_program_name(char *name, size_t size);

/* ---- users ---- */

#define PYUSDT_OS_GROUPS 256 /* that a thread may have which acts as another user */

/* The identity of a thread before it acted as another user. */
struct pyusdt_os_credentials {
    uint32_t uid, gid;
    int ngroups;
    uint32_t groups[PYUSDT_OS_GROUPS];
    uint32_t effective[2]; /* capabilities */
    int dumpable, death_signal;
};

/* Limits the calling thread's access to files and directories to this user's, until
 * pyusdt_os_fsuid_restore(): the thread has this group only, and no capability. false: not possible
 * (never: macOS, FreeBSD), and nothing has changed. */
bool pyusdt_os_fsuid_set(uint32_t uid, uint32_t gid, struct pyusdt_os_credentials *self);
void pyusdt_os_fsuid_restore(const struct pyusdt_os_credentials *self);

/* ---- limits ---- */

/* Calls fn with each limit on the memory of this process, until fn returns other than 0: those of
 * its memory cgroups, from the innermost out, and the machine's. left: bytes until the limit;
 * memory that the kernel can reclaim counts by half. Returns the last result of fn. On a system
 * without such limits fn is not called (macOS, FreeBSD). */
typedef int pyusdt_os_limit_fn(void *arg, uint64_t limit, uint64_t left);
int pyusdt_os_memory_limits(pyusdt_os_limit_fn *fn, void *arg);

/* The same of the addresses of this process (RLIMIT_AS), of which there is one limit at most. */
int pyusdt_os_address_limit(pyusdt_os_limit_fn *fn, void *arg);

/* ---- rights ---- */

/* For a thread of pyusdt, which must not keep rights that the program gives up later by calls that
 * act on one thread (capset(), no_new_privs). The calling thread executes no set-uid program from
 * now on, and keeps only the capabilities to become another user: all threads change the user, and
 * the C library ends the process if one cannot. */
bool pyusdt_os_drop_rights(void);

/* Gives up those two, too, when the process's first thread cannot get them again (capabilities that
 * it is permitted). In a sandbox (seccomp) nothing is done, since a system call that is not
 * permitted may end the process. Both return whether something is left to give up; never if threads
 * have no capabilities (macOS, FreeBSD). */
bool pyusdt_os_drop_rights_like_main_thread(void);

/* ---- memory and files ---- */

/* From now on a forked or cloned child finds zeros in these pages. false: it finds its parent's
 * contents. */
bool pyusdt_os_wipe_on_fork(void *at, size_t size);

/* Gives pages of a shared mapping back to the system, though their file may be mapped elsewhere.
 * They read as zeros. */
void pyusdt_os_discard(void *at, size_t size);

/* The same for a whole file, if the system can do it. */
void pyusdt_os_discard_file(int fd, uint64_t size);

/* 0, or -EFBIG: the process may not make a file of this length (RLIMIT_FSIZE). The system call
 * would send it SIGXFSZ, which ends a program that does not expect it. */
static inline int pyusdt_os_file_limit(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
                   size > (uint64_t)limit.rlim_cur
               ? -EFBIG
               : 0;
}

/* The file's length from now on. 0 or -errno. */
static inline int pyusdt_os_resize(int fd, uint64_t size)
{
    int r = pyusdt_os_file_limit(size);
    return r != 0 ? r : ftruncate(fd, (off_t)size) == 0 ? 0 : -errno;
}

/* Allocates every page of this part of the file now, and makes the file at least that long: 0, or
 * -ENOSPC and the like. If the file system cannot do it (ZFS), or the part lies within the file
 * (macOS), a page that is missing later is a SIGBUS, which sigbus_guard.c handles. */
int pyusdt_os_allocate(int fd, uint64_t at, uint64_t size);

/* Whether that makes pages within a file, too. */
#if defined(__APPLE__)
#define PYUSDT_OS_FILLS_HOLES 0
#else
#define PYUSDT_OS_FILLS_HOLES 1
#endif

/* Allocates every page of a shared mapping now, and maps it, so that no store waits for it. 0 or
 * -errno; -ENOTSUP before Linux 5.14, and on other systems: there the pages are allocated when they
 * are touched. */
int pyusdt_os_populate(void *at, uint64_t size);

/* Calls fn with each name in a directory until it returns other than 0. 0 or -errno. On macOS
 * this allocates, which its malloc permits in a forked child. */
int pyusdt_os_each_name(int dir, int (*fn)(void *arg, const char *name), void *arg);

/* Is this directory's file system in memory, so that no disk slows down writers? */
bool pyusdt_os_is_in_memory(int dir);

/* Opens a name in a directory: no symbolic link, and no mount point if the system can detect it. It
 * does not wait (for the other end of a fifo), and is closed by exec. fd or -errno. */
int pyusdt_os_open_in(int dir, const char *name, int flags, unsigned mode);

/* A file without a name: fd or -errno. */
int pyusdt_os_open_unnamed(void);

/* size random bytes: 0 or -EIO. */
int pyusdt_os_random(void *bytes, size_t size);

static inline struct timespec pyusdt_os_mtime(const struct stat *st)
{
#if defined(__APPLE__)
    return st->st_mtimespec;
#else
    return st->st_mtim;
#endif
}

#pragma GCC visibility pop

#endif
