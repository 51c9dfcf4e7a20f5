/* The cache of provider objects (see provider_cache.h). */
#define _GNU_SOURCE
#include "target/provider_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/error.h"
#include "shared/os.h"

#define OBJECT_NAME 96 /* provider, id, ".so", and an ending while it is written */
#define TEMPORARY_TRIES 100

/* Also if only the effective user differs: a program that was started that way has the right ones
 * in its environment, a program that has changed its user since may not. */
static bool is_privileged(void)
{
    return pyusdt_os_is_secure_exec() || geteuid() != getuid() || getegid() != getgid();
}

/* The location of the cache. base: the length of the part of the path that must exist: a missing
 * home is not made for the cache. */
static int choose_path(char *path, size_t size, size_t *base)
{
    const char *own = getenv("PYUSDT_CACHE"), *cache = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int n = -1;

    *base = 0;
    if (own && *own == '/')
        n = snprintf(path, size, "%s", own);
    else if (cache && *cache == '/') {
        n = snprintf(path, size, "%s/pyusdt", cache);
        *base = (size_t)(strrchr(cache, '/') - cache); /* often the home */
    } else if (home && *home == '/') {
        n = snprintf(path, size, "%s/.cache/pyusdt", home);
        *base = strlen(home);
    } else
        return -ENOENT;
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* ---- who may change what ---- */

/* Only the user and root may change it; or anybody, but only their own files (sticky, as /tmp is).
 */
static bool is_trusted(const struct stat *st)
{
    if (st->st_uid != geteuid() && st->st_uid != 0)
        return false;
    return S_ISLNK(st->st_mode) ||
           (S_ISDIR(st->st_mode) && ((st->st_mode & 022) == 0 || (st->st_mode & S_ISVTX) != 0));
}

/* Checks every directory and symbolic link of the first `length` bytes of an absolute path. */
static int check_path(const char *path, size_t length, struct pyusdt_error *error)
{
    char part[PATH_MAX];
    struct stat st;

    for (size_t i = 1; i <= length; i++) {
        if (i < length && path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (lstat(part, &st) != 0)
            return pyusdt_error_set(error, -errno, "the cache %s: %s", part, strerror(errno));
        if (!is_trusted(&st))
            return pyusdt_error_set(error, -EPERM, "the cache %s: %s can be changed by others",
                                    path, part);
    }
    return 0;
}

/* The length of the existing part of a path; real: its resolved path. */
static size_t find_existing_part(const char *path, char *real)
{
    char part[PATH_MAX];
    size_t length = strlen(path);

    memcpy(part, path, length + 1);
    while (length > 0 && !realpath(part, real)) {
        while (--length > 0 && part[length] != '/')
            ;
        part[length] = '\0';
    }
    if (length == 0)
        strcpy(real, "/");
    return length;
}

static int check_both(const char *path, size_t length, const char *real, struct pyusdt_error *error)
{
    int r = check_path(path, length, error);
    return r == 0 ? check_path(real, strlen(real), error) : r;
}

/* Makes the missing directories of a path, after the existing ones have been verified: a user who
 * could change them could choose where new ones are made. */
static int make_path(char *path, size_t base, struct pyusdt_error *error)
{
    char real[PATH_MAX];
    size_t length = strlen(path), at = find_existing_part(path, real);
    int r;

    if (at < base)
        return pyusdt_error_set(error, -ENOENT,
                                "no cache: %.*s is not there (PYUSDT_CACHE can name another place)",
                                (int)base, path);
    r = check_both(path, at, real, error);
    while (r == 0 && at < length) {
        at += 1 + strcspn(path + at + 1, "/");
        char here = path[at];
        path[at] = '\0';
        int failed = mkdir(path, 0700) != 0 && errno != EEXIST ? errno : 0;
        path[at] = here;
        if (failed != 0)
            r = pyusdt_error_set(error, -failed, "the cache %s: %s", path, strerror(failed));
    }
    return r;
}

int pyusdt_cache_directory(char *path, size_t size, struct pyusdt_error *error)
{
    char asked[PYUSDT_CACHE_PATH], real[PATH_MAX];
    struct stat st;
    size_t base;
    int r;

    if (is_privileged())
        return pyusdt_error_set(error, -EPERM,
                                "no cache in a process with more rights than its user");
    r = choose_path(asked, sizeof asked, &base);
    if (r != 0)
        return pyusdt_error_set(error, r,
                                "no cache: neither PYUSDT_CACHE nor HOME is an absolute path");
    r = make_path(asked, base, error);
    if (r != 0)
        return r;
    if (!realpath(asked, real))
        return pyusdt_error_set(error, -errno, "the cache %s: %s", asked, strerror(errno));
    r = check_both(asked, strlen(asked), real, error);
    if (r != 0)
        return r;
    if (lstat(real, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0)
        return pyusdt_error_set(
            error, -EPERM,
            "the cache %s belongs to another user (sudo?), or others may write in it", real);
    r = snprintf(path, size, "%s", real);
    return r < 0 || (size_t)r >= size
               ? pyusdt_error_set(error, -ENAMETOOLONG, "the cache's path is too long")
               : 0;
}

/* ---- a file ---- */

static bool has_bytes(int fd, const struct pyusdt_elf *elf)
{
    uint8_t piece[4096];

    for (size_t at = 0; at < elf->size;) {
        ssize_t n = pread(fd, piece, sizeof piece, (off_t)at);
        if (n <= 0 || (size_t)n > elf->size - at || memcmp(piece, elf->data + at, (size_t)n) != 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static bool has_object(int dir, const char *name, const struct pyusdt_elf *elf)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    bool good;

    if (fd < 0)
        return false;
    good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
           (st.st_mode & 022) == 0 && st.st_nlink == 1 && (size_t)st.st_size == elf->size &&
           has_bytes(fd, elf);
    close(fd);
    return good;
}

static int write_all(int fd, const uint8_t *data, size_t size)
{
    int r = pyusdt_os_file_limit(size);

    if (r != 0)
        return r;
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? -errno : -ENOSPC;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* Makes a new file, and stores its name in `temporary`. A process with this id may have been killed
 * here before, or may run in another container. */
static int make_temporary(int dir, const char *name, char *temporary, size_t size)
{
    static unsigned made;
    int fd = -1;

    for (int i = 0; fd < 0 && i < TEMPORARY_TRIES; i++) {
        snprintf(temporary, size, ".%s.%ld.%u", name, (long)getpid(),
                 __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED));
        fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd < 0 ? -errno : fd;
}

static int write_object(int dir, const char *name, const struct pyusdt_elf *elf)
{
    char temporary[OBJECT_NAME + 48];
    int r, fd = make_temporary(dir, name, temporary, sizeof temporary);

    if (fd < 0)
        return fd;
    r = write_all(fd, elf->data, elf->size);
    if (r == 0 && fchmod(fd, 0644) != 0) /* tools that list probes may read it */
        r = -errno;
    if (close(fd) != 0 && r == 0)
        r = -errno;
    if (r == 0 && renameat(dir, temporary, dir, name) != 0)
        r = -errno;
    if (r != 0)
        unlinkat(dir, temporary, 0);
    return r;
}

int pyusdt_cache_object(const char *provider, const struct pyusdt_elf *elf, char *path, size_t size,
                        struct pyusdt_error *error)
{
    char directory[PYUSDT_CACHE_PATH], name[OBJECT_NAME], *at = name;
    int dir, n, r = pyusdt_cache_directory(directory, sizeof directory, error);

    if (r != 0)
        return r;
    at += snprintf(name, sizeof name, "%.*s-", PYUSDT_PROVIDER_MAX, provider);
    for (unsigned i = 0; i < PYUSDT_ELF_ID_SIZE; i++)
        at += snprintf(at, 3, "%02x", elf->id[i]);
    snprintf(at, 4, ".so");
    n = snprintf(path, size, "%s/%s", directory, name);
    if (n < 0 || (size_t)n >= size)
        return pyusdt_error_set(error, -ENAMETOOLONG, "the cache's path is too long");
    dir = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return pyusdt_error_set(error, -errno, "the cache %s: %s", directory, strerror(errno));
    r = has_object(dir, name, elf) ? 0 : write_object(dir, name, elf);
    if (r == 0 && !has_object(dir, name, elf))
        r = -EIO;
    close(dir);
    return r == 0 ? 0 : pyusdt_error_set(error, r, "cannot write %s: %s", path, strerror(-r));
}
