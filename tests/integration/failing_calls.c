/*
 * Preloaded into a tracer: makes one call of one function fail, once, if it comes from one shared object.
 *
 * Input: FAILING_OBJECT: a part of the path of that shared object; FAILING_CALL: "function:number:errno", e.g. "mmap:2:12".
 * Output: the chosen call does nothing and fails as its function fails; a call of syscall() is counted by the system call's number.
 * - A program that the tracer starts is not preloaded.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { NAMES = 128 };

static struct {
    const char *name; /* NULL: free */
    long number;      /* of a system call */
    atomic_int calls;
} counted[NAMES];
static char object[128], wanted[64];
static int which, failure;
static pid_t tracer;
static uintptr_t first, last; /* of the object's addresses */

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    if (!strstr(info->dlpi_name, object))
        return 0;
    first = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        first = begin < first ? begin : first;
        last =
            begin + info->dlpi_phdr[i].p_memsz > last ? begin + info->dlpi_phdr[i].p_memsz : last;
    }
    return 1;
}

void *dlopen(const char *path, int flags)
{
    void *(*real)(const char *, int) = dlsym(RTLD_NEXT, "dlopen");
    void *handle = real(path, flags);

    if (path && object[0] && strstr(path, object))
        dl_iterate_phdr(find_object, NULL);
    return handle;
}

/* From here on this process is the tracer. call: as FAILING_CALL, or NULL. */
void failing_calls_begin(const char *call)
{
    tracer = getpid();
    wanted[0] = '\0';
    if (call)
        sscanf(call, "%63[^:]:%d:%d", wanted, &which, &failure);
}

__attribute__((constructor)) static void load(void)
{
    snprintf(object, sizeof object, "%s", getenv("FAILING_OBJECT") ? getenv("FAILING_OBJECT") : "");
    failing_calls_begin(getenv("FAILING_CALL"));
    unsetenv("LD_PRELOAD");
}

static const char *whole_name(char whole[64], const char *name, long number)
{
    snprintf(whole, 64, number < 0 ? "%s" : "%s-%ld", name, number);
    return whole;
}

/* How often each function was called. */
void failing_calls_log(const char *path)
{
    FILE *file = fopen(path, "w");
    char whole[64];

    for (int i = 0; file && i < NAMES && counted[i].name; i++)
        fprintf(file, "%s %d\n", whole_name(whole, counted[i].name, counted[i].number),
                counted[i].calls);
    if (file)
        fclose(file);
}

/* Whether this call is the one to fail. */
static int fails(const void *caller, const char *name, long number)
{
    char whole[64];
    int i;

    if ((uintptr_t)caller < first || (uintptr_t)caller >= last || getpid() != tracer)
        return 0;
    for (i = 0; i < NAMES - 1 && counted[i].name &&
                (strcmp(counted[i].name, name) != 0 || counted[i].number != number);
         i++)
        ;
    counted[i].number = number;
    counted[i].name = name;
    if (atomic_fetch_add(&counted[i].calls, 1) + 1 != which ||
        strcmp(whole_name(whole, name, number), wanted) != 0)
        return 0;
    errno = failure;
    return 1;
}

#define CALL(result, failed, name, types, values) \
    result name types \
    { \
        static result(*real) types; \
        if (fails(__builtin_return_address(0), #name, -1)) \
            return failed; \
        if (!real) \
            real = (result(*) types)dlsym(RTLD_NEXT, #name); \
        return real values; \
    }

/* dlsym() itself may allocate */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0), "malloc", -1) ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return fails(__builtin_return_address(0), "calloc", -1) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t size)
{
    return fails(__builtin_return_address(0), "realloc", -1) ? NULL : __libc_realloc(at, size);
}

CALL(char *, NULL, strdup, (const char *text), (text))
CALL(char *, NULL, strndup, (const char *text, size_t n), (text, n))
CALL(int, -1, access, (const char *path, int mode), (path, mode))
CALL(FILE *, NULL, fdopen, (int fd, const char *mode), (fd, mode))
CALL(DIR *, NULL, fdopendir, (int fd), (fd))
CALL(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
CALL(char *, NULL, fgets, (char *line, int size, FILE *file), (line, size, file))
CALL(struct dirent *, NULL, readdir, (DIR * dir), (dir))
CALL(int, -1, flock, (int fd, int how), (fd, how))
CALL(int, -1, fstat, (int fd, struct stat *st), (fd, st))
CALL(int, -1, fstatat, (int dir, const char *path, struct stat *st, int flags),
     (dir, path, st, flags))
CALL(int, -1, stat, (const char *path, struct stat *st), (path, st))
CALL(int, -1, fstatfs, (int fd, struct statfs *fs), (fd, fs))
CALL(int, -1, fstatvfs, (int fd, struct statvfs *fs), (fd, fs))
CALL(int, -1, ftruncate, (int fd, off_t size), (fd, size))
CALL(int, -1, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size))
CALL(int, failure, posix_fallocate, (int fd, off_t at, off_t size), (fd, at, size))
CALL(ssize_t, -1, getrandom, (void *to, size_t size, unsigned flags), (to, size, flags))
CALL(int, -1, getgroups, (int n, gid_t *groups), (n, groups))
CALL(off_t, -1, lseek, (int fd, off_t at, int from), (fd, at, from))
CALL(int, -1, madvise, (void *at, size_t size, int advice), (at, size, advice))
CALL(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
CALL(int, -1, mkdir, (const char *path, mode_t mode), (path, mode))
CALL(int, -1, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
CALL(void *, MAP_FAILED, mmap,
     (void *at, size_t size, int protection, int flags, int fd, off_t offset),
     (at, size, protection, flags, fd, offset))
CALL(ssize_t, -1, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at))
CALL(ssize_t, -1, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))
CALL(ssize_t, -1, read, (int fd, void *to, size_t size), (fd, to, size))
CALL(ssize_t, -1, write, (int fd, const void *from, size_t size), (fd, from, size))
CALL(int, -1, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
CALL(long, -1, sysconf, (int name), (name))
CALL(int, -1, kill, (pid_t pid, int signal), (pid, signal))
CALL(int, failure, pthread_create,
     (pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *arg),
     (thread, how, run, arg))
CALL(ssize_t, -1, process_vm_readv,
     (pid_t pid, const struct iovec *here, unsigned long n, const struct iovec *there,
      unsigned long m, unsigned long flags),
     (pid, here, n, there, m, flags))

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (fails(__builtin_return_address(0), "open", -1))
        return -1;
    return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open"))(path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (fails(__builtin_return_address(0), "openat", -1))
        return -1;
    return ((int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat"))(dir, path, flags,
                                                                              mode);
}

int prctl(int what, ...)
{
    va_list rest;
    va_start(rest, what);
    unsigned long a = va_arg(rest, unsigned long), b = va_arg(rest, unsigned long),
                  c = va_arg(rest, unsigned long), d = va_arg(rest, unsigned long);
    va_end(rest);
    if (fails(__builtin_return_address(0), "prctl", -1))
        return -1;
    return ((int (*)(int, ...))dlsym(RTLD_NEXT, "prctl"))(what, a, b, c, d);
}

long syscall(long number, ...)
{
    va_list rest;
    va_start(rest, number);
    long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long),
         d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
    va_end(rest);
    if (fails(__builtin_return_address(0), "syscall", number))
        return -1;
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(number, a, b, c, d, e, f);
}
