/* The run directory and its files (see rundir.h). */
#define _GNU_SOURCE
#include "shared/rundir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shared/fsuid.h"
#include "shared/layout.h"
#include "shared/os.h"

#define CTL_MADE_IN 60 /* s */
#define UNTRUSTED_NAMES_MAX \
    65536u /* in the directory of another user, who may want to keep us busy */

/* ---- names ---- */

void pyusdt_name_format(const struct pyusdt_name *name, char *text)
{
    int n = 0;
    if (name->kind == PYUSDT_FILE_SESSION) {
        snprintf(text, PYUSDT_NAME_SIZE, "%02u.session", name->slot);
        return;
    }
    n = snprintf(text, PYUSDT_NAME_SIZE, "%u-%llu-%u.%s", name->process.pid,
                 (unsigned long long)name->process.starttime, name->process.instance,
                 name->kind == PYUSDT_FILE_FLIGHT       ? "flight"
                 : name->kind == PYUSDT_FILE_EXCEPTIONS ? "exceptions"
                                                        : "ctl");
    if (name->kind != PYUSDT_FILE_AREA && name->kind != PYUSDT_FILE_RING)
        return;
    n += snprintf(text + n, PYUSDT_NAME_SIZE - (size_t)n, ".%02u.%016llx.", name->slot,
                  (unsigned long long)name->generation);
    if (name->kind == PYUSDT_FILE_AREA)
        snprintf(text + n, PYUSDT_NAME_SIZE - (size_t)n, "area");
    else
        snprintf(text + n, PYUSDT_NAME_SIZE - (size_t)n, "ring%u", name->ring);
}

/* A name is valid only if formatting its parts gives it back: a file has no second spelling. */
void pyusdt_name_parse(const char *text, struct pyusdt_name *name)
{
    char again[PYUSDT_NAME_SIZE];
    unsigned long long starttime = 0, generation = 0;
    char kind[8] = "";
    int fields;

    memset(name, 0, sizeof *name);
    if (strlen(text) >= PYUSDT_NAME_SIZE || !isdigit((unsigned char)text[0]))
        return;
    fields = sscanf(text, "%u-%llu-%u.ctl.%2u.%16llx.%7s", &name->process.pid, &starttime,
                    &name->process.instance, &name->slot, &generation, kind);
    name->process.starttime = starttime;
    name->generation = generation;
    if (fields == 3) {
        name->kind = strstr(text, ".flight")       ? PYUSDT_FILE_FLIGHT
                     : strstr(text, ".exceptions") ? PYUSDT_FILE_EXCEPTIONS
                                                   : PYUSDT_FILE_CTL;
    } else if (fields == 6) {
        name->kind = strcmp(kind, "area") == 0 ? PYUSDT_FILE_AREA : PYUSDT_FILE_RING;
        if (name->kind == PYUSDT_FILE_RING && sscanf(kind, "ring%2u", &name->ring) != 1)
            name->kind = PYUSDT_FILE_OTHER;
    } else if (fields == 1 && sscanf(text, "%2u.session", &name->slot) == 1) {
        name->kind = PYUSDT_FILE_SESSION;
    }
    if (name->kind == PYUSDT_FILE_OTHER)
        return;
    pyusdt_name_format(name, again);
    if (strcmp(text, again) != 0 || name->slot >= PYUSDT_MAX_SESSIONS ||
        name->ring >= PYUSDT_RINGS_MAX)
        name->kind = PYUSDT_FILE_OTHER;
}

/* ---- the directory ---- */

/* Not if the environment may come from another user. */
static const char *read_environment(const char *variable)
{
    const char *value = pyusdt_os_is_secure_exec() ? NULL : getenv(variable);
    return value && *value ? value : NULL;
}

const char *pyusdt_rundir_from_environment(void)
{
    return read_environment("PYUSDT_RUNDIR");
}

bool pyusdt_rundir_is_of_all_users(void)
{
    return geteuid() == 0 && !pyusdt_rundir_from_environment();
}

static int choose_path(char *path, size_t size)
{
    const char *own = pyusdt_rundir_from_environment(), *parent = read_environment("TMPDIR");
    int n;

    if (access("/dev/shm", W_OK | X_OK) == 0)
        parent = "/dev/shm";
    if (own)
        n = snprintf(path, size, "%s", own);
    else
        n = snprintf(path, size, "%s/" PYUSDT_RUNDIR_PREFIX "%u", parent ? parent : "/tmp",
                     (unsigned)geteuid());
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int pyusdt_rundir_check(int dir, uint32_t owner, const char *path, struct pyusdt_error *error)
{
    struct stat st;

    if (fstat(dir, &st) != 0)
        return pyusdt_error_set(error, -errno, "run directory %s: %s", path, strerror(errno));
    if (st.st_uid != owner)
        return pyusdt_error_set(
            error, -EPERM,
            "run directory %s does not belong to uid %u: remove it, or set PYUSDT_RUNDIR to another "
            "one, for program and tracer",
            path, owner);
    if ((st.st_mode & 077) != 0)
        return pyusdt_error_set(error, -EPERM,
                                "run directory %s is open to others: its mode must be 0700", path);
    return 0;
}

int pyusdt_rundir_open(const char *path, struct pyusdt_error *error)
{
    struct stat st;
    int r, dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (dir < 0)
        return pyusdt_error_set(error, -errno, "run directory %s: %s", path, strerror(errno));
    if (geteuid() != 0 || fstat(dir, &st) != 0)
        st.st_uid = geteuid();
    r = pyusdt_rundir_check(dir, st.st_uid, path, error);
    if (r == 0)
        return dir;
    close(dir);
    return r;
}

/* If no environment names it, every user can make a directory of its name first. */
int pyusdt_rundir_make(char *path, size_t size, struct pyusdt_error *error)
{
    int dir, r = choose_path(path, size);
    if (r != 0)
        return pyusdt_error_set(error, r, "the run directory's path is too long");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return pyusdt_error_set(error, -errno, "cannot make the run directory %s: %s", path,
                                strerror(errno));
    dir = pyusdt_rundir_open(path, error);
    if (dir < 0)
        return dir;
    r = pyusdt_rundir_from_environment() ? 0 : pyusdt_rundir_check(dir, geteuid(), path, error);
    close(dir);
    return r;
}

bool pyusdt_ctl_is_being_made(int fd)
{
    uint64_t magic = 0,
             pidns = 0; /* not the whole header: a forked child is here on a small stack */
    struct timespec now;
    struct stat st;

    if (pread(fd, &magic, sizeof magic, offsetof(struct pyusdt_ctl_header, magic)) < 0 ||
        pread(fd, &pidns, sizeof pidns, offsetof(struct pyusdt_ctl_header, pidns)) < 0 ||
        magic != 0 || pidns == pyusdt_os_pidns() || fstat(fd, &st) != 0 ||
        clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    return now.tv_sec - st.st_mtime < CTL_MADE_IN;
}

/* ---- the names in it ---- */

struct each {
    pyusdt_name_fn *fn;
    void *arg;
    uint32_t left; /* names that are read at most */
};

static int each_name(void *arg, const char *text)
{
    struct each *each = arg;
    struct pyusdt_name name;

    if (each->left == 0)
        return 1;
    each->left--;
    pyusdt_name_parse(text, &name);
    return name.kind != PYUSDT_FILE_OTHER && each->fn(each->arg, text, &name) != 0;
}

/* A forked child of a threaded program may not call malloc, so no readdir(). */
int pyusdt_rundir_each(int dir, pyusdt_name_fn *fn, void *arg)
{
    struct stat st;
    bool own = fstat(dir, &st) == 0 && st.st_uid == geteuid();
    struct each each = {fn, arg, own ? UINT32_MAX : UNTRUSTED_NAMES_MAX};
    int r = pyusdt_os_each_name(dir, each_name, &each);
    return r == 0 && each.left == 0 ? -E2BIG : r;
}

struct rings {
    int dir;
    uint64_t generation, bytes;
};

static int add_ring(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct rings *rings = arg;
    struct stat st;

    if (name->kind == PYUSDT_FILE_RING && name->generation == rings->generation &&
        fstatat(rings->dir, text, &st, AT_SYMLINK_NOFOLLOW) == 0)
        rings->bytes += (uint64_t)st.st_size;
    return 0;
}

uint64_t pyusdt_rundir_ring_bytes(int dir, uint64_t generation)
{
    struct rings rings = {dir, generation, 0};

    pyusdt_rundir_each(dir, add_ring, &rings);
    return rings.bytes;
}

/* ---- files ---- */

int pyusdt_rundir_open_in(int dir, const char *name, int flags, unsigned mode)
{
    struct pyusdt_saved_fsuid saved;
    int r = pyusdt_fsuid_switch_to_owner(dir, &saved);

    if (r != 0)
        return r;
    r = pyusdt_os_open_in(dir, name, flags, mode);
    pyusdt_fsuid_restore(&saved);
    return r;
}

void pyusdt_rundir_unlink(int dir, const char *name)
{
    struct pyusdt_saved_fsuid saved;

    if (pyusdt_fsuid_switch_to_owner(dir, &saved) != 0)
        return;
    unlinkat(dir, name, 0);
    pyusdt_fsuid_restore(&saved);
}

int pyusdt_file_open(int dir, const char *name, int flags, uint64_t *size)
{
    struct stat st, owner;
    int fd = pyusdt_rundir_open_in(dir, name, flags, 0);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) != 0 || fstat(dir, &owner) != 0) {
        int failed = -errno;
        close(fd);
        return failed;
    }
    if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        (st.st_uid != owner.st_uid && st.st_uid != 0 && st.st_uid != geteuid()) ||
        (st.st_mode & 077) != 0) {
        close(fd);
        return -EPERM;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

int pyusdt_file_make(int dir, const char *name, uint64_t size)
{
    int r, fd = pyusdt_rundir_open_in(dir, name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return fd;
    /* Every page now: a full tmpfs is an error here, and would be a SIGBUS later. */
    r = pyusdt_os_allocate(fd, 0, size);
    if (r != 0) {
        pyusdt_rundir_unlink(dir, name);
        close(fd);
        return r;
    }
    return fd;
}

/* ---- processes ---- */

int pyusdt_read_starttime(uint32_t pid, uint64_t *starttime)
{
    struct pyusdt_os_process process;
    int r = pyusdt_os_read_process(pid, &process);

    *starttime = process.starttime;
    return r;
}

bool pyusdt_is_alive(const struct pyusdt_identity *process)
{
    struct pyusdt_os_process info;
    int r;

    if (kill((pid_t)process->pid, 0) != 0 && errno == ESRCH)
        return false;
    r = pyusdt_os_read_process(process->pid, &info);
    if (r != 0 && r != -ESRCH && r != -ENOENT)
        return true; /* unknown, so it counts as alive */
    if (r != 0)
        return !pyusdt_os_has_process_info(); /* kill()'s word is all there is */
    return (process->starttime == 0 || info.starttime == process->starttime) && !info.ended;
}
