/*
 * The run directory: its location, the names of its files, and opening them without trusting them.
 *
 * - Nothing here calls malloc, and nothing follows a symbolic link.
 */
#ifndef PYUSDT_RUNDIR_H
#define PYUSDT_RUNDIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/error.h"
#include "shared/os.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_PATH_SIZE 512
#define PYUSDT_NAME_SIZE 128

/* Identifies a core: one process may hold several, and several in succession may have the same pid.
 */
struct pyusdt_identity {
    uint32_t pid;
    uint32_t instance;
    uint64_t starttime;
};

/* The parts of a name in the run directory. */
enum pyusdt_file {
    PYUSDT_FILE_OTHER,
    PYUSDT_FILE_SESSION,
    PYUSDT_FILE_CTL,
    PYUSDT_FILE_AREA,
    PYUSDT_FILE_RING,
    PYUSDT_FILE_FLIGHT,
    PYUSDT_FILE_EXCEPTIONS
};
struct pyusdt_name {
    enum pyusdt_file kind;
    struct pyusdt_identity process; /* CTL, AREA, RING, FLIGHT, EXCEPTIONS */
    uint32_t slot;                  /* SESSION, AREA, RING */
    uint64_t generation;            /* AREA, RING */
    uint32_t ring;                  /* RING */
};

/* Writes the name of a file (PYUSDT_NAME_SIZE bytes), or reads one. */
void pyusdt_name_format(const struct pyusdt_name *name, char *text);
void pyusdt_name_parse(const char *text, struct pyusdt_name *name);

/* The beginning of the name of a user's own directory; the uid follows. */
#define PYUSDT_RUNDIR_PREFIX "pyusdt-"

/* A directory's mtime distinguishes two changes if they are this far apart. */
#define PYUSDT_MTIME_GRAIN_NS 50000000

/* Whether the caller traces the processes of all users: root, unless PYUSDT_RUNDIR names a
 * directory. */
bool pyusdt_rundir_is_of_all_users(void);

/* Did the caller's environment name the directory? NULL: it is at the system's default. */
const char *pyusdt_rundir_from_environment(void);

/* The user's own: PYUSDT_RUNDIR, /dev/shm/pyusdt-<uid>, or one in the temporary directory. Made
 * (0700) and checked. */
int pyusdt_rundir_make(char *path, size_t size, struct pyusdt_error *error);

/* Whether a process may still be making this control file: a living one of another pid namespace looks like a dead one. */
bool pyusdt_ctl_is_being_made(int fd);

/* Opens the directory of this path, which must belong to the caller (root: to anybody) and be
 * closed to others. fd or -errno. */
int pyusdt_rundir_open(const char *path, struct pyusdt_error *error);

/* 0 if an open directory is this user's and closed to others; else -EPERM, with the path in the
 * message. */
int pyusdt_rundir_check(int dir, uint32_t owner, const char *path, struct pyusdt_error *error);

/* Opens a name in the directory, or unlinks it, as the directory's owner. It follows no link and
 * does not wait. fd or -errno. */
int pyusdt_rundir_open_in(int dir, const char *name, int flags, unsigned mode);
void pyusdt_rundir_unlink(int dir, const char *name);

/* Opens a regular file with one link, whose owner is the directory's owner, root or the caller. Its
 * size; fd or -errno. */
int pyusdt_file_open(int dir, const char *name, int flags, uint64_t *size);

/* Makes one of size bytes, every page of it allocated, and maps it shared. fd or -errno. */
int pyusdt_file_make(int dir, const char *name, uint64_t size);

/* Calls fn for the directory's entries with a valid name, until fn returns nonzero. 0 or -errno;
 * -E2BIG: another user's directory with too many entries, of which not all were read. */
typedef int pyusdt_name_fn(void *arg, const char *text, const struct pyusdt_name *name);
int pyusdt_rundir_each(int dir, pyusdt_name_fn *fn, void *arg);

/* Bytes of all ring files of a session. */
uint64_t pyusdt_rundir_ring_bytes(int dir, uint64_t generation);

/* The time at which the process (pid 0: the caller) was started, in the system's unit; 0 if
 * unknown. 0 or -errno. */
int pyusdt_read_starttime(uint32_t pid, uint64_t *starttime);

/* Does the process still run? (Meaningful in its own pid namespace only.) */
bool pyusdt_is_alive(const struct pyusdt_identity *process);

#pragma GCC visibility pop

#endif
