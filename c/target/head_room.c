/*
 * Head room: what a process's buffers leave to the program that the process runs.
 *
 * In:  a request for more bytes, on a slow path; the room in the run directory's file system; the limits on the process's memory
 *      and addresses (os.h).
 * Out: 0, or which limit is too near: -PYUSDT_KEEPS_….
 * Always: buffers have a quarter of what they and the program's free room are together, at most; and an eighth or a quarter of the
 *      whole limit stays free in any case. So a program that has reserved memory and not touched it yet finds it later.
 *
 * A look at the limits takes some 50 us. Where all of them are far, the next GRANT bytes of this process need none.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>

#include "target/target.h"
#include "shared/os.h"

#define FAR_LIMIT (1ull << 30) /* a limit that is farther away leaves room for every program */
#define GRANT (16ull << 20)    /* bytes */
#define FREE_FILES \
    (16ull << 20) /* what stays free of a file system at least, if an eighth of it is not less; */
#define FREE_MEMORY \
    (64ull \
     << 20) /* and of a process's memory or addresses, of which others' buffers are not known: a quarter */

struct request {
    uint64_t more, used; /* bytes that are asked for, and that our buffers have already */
    bool all_far;        /* all limits are */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool leaves_head_room(const struct request *request, uint64_t left, uint64_t stays_free)
{
    return left >= request->more && left - request->more >= stays_free &&
           (left - request->more) / 3 >= request->used + request->more;
}

/* ---- the file system ---- */

struct files {
    int dir;
    uint64_t bytes;
};

static int add_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct files *files = arg;
    struct stat st;

    if ((name->kind == PYUSDT_FILE_RING || name->kind == PYUSDT_FILE_AREA) &&
        fstatat(files->dir, text, &st, AT_SYMLINK_NOFOLLOW) == 0)
        files->bytes += (uint64_t)st.st_blocks * 512;
    return 0;
}

/* The buffers of all processes there are ours. A tmpfs without a limit says that it has no blocks. */
static int check_files(int dir, struct request *request)
{
    struct files files = {dir, 0};
    struct statvfs fs;
    uint64_t left, all;

    if (dir < 0 || fstatvfs(dir, &fs) != 0 || fs.f_blocks == 0)
        return 0;
    left = (uint64_t)fs.f_bavail * fs.f_frsize;
    all = (uint64_t)fs.f_blocks * fs.f_frsize;
    if (left >= FAR_LIMIT + request->more)
        return 0;
    request->all_far = false;
    pyusdt_rundir_each(dir, add_file, &files);
    request->used = files.bytes;
    return leaves_head_room(request, left, smaller(all / 8, FREE_FILES)) ? 0
                                                                         : -PYUSDT_KEEPS_FILE_SPACE;
}

/* ---- memory and addresses ---- */

static int check_limit(void *arg, uint64_t limit, uint64_t left)
{
    struct request *request = arg;

    if (left >= FAR_LIMIT + request->more)
        return 0;
    request->all_far = false;
    return leaves_head_room(request, left, smaller(limit / 4, FREE_MEMORY)) ? 0 : -1;
}

/* Bytes of all rings of this process: those that have pages, or all that are mapped. Rings that come or go meanwhile may be missed. */
static uint64_t sum_ring_bytes(bool mapped)
{
    uint64_t sum = 0;

    for (unsigned number = 0; number <= PYUSDT_MAX_SESSIONS; number++) {
        struct pyusdt_slot *slot = &pyusdt_core.slot[number];
        uint32_t n = atomic_load(&slot->nrings);
        for (uint32_t k = 0; k < n; k++)
            sum += mapped ? slot->ring[k].reserved
                          : __atomic_load_n(&slot->ring[k].usable, __ATOMIC_RELAXED);
    }
    return sum;
}

static bool use_grant(uint64_t bytes)
{
    _Atomic uint64_t *granted = &pyusdt_core.family->granted;
    uint64_t left = atomic_load(granted);

    while (left >= bytes)
        if (atomic_compare_exchange_weak(granted, &left, left - bytes))
            return true;
    return false;
}

int pyusdt_head_room_reserve(int dir, uint64_t bytes)
{
    struct request request = {.more = bytes, .all_far = true};
    int r;

    if (use_grant(bytes))
        return 0;
    r = check_files(dir, &request);
    if (r != 0)
        return r;
    request.used = sum_ring_bytes(false);
    if (pyusdt_os_memory_limits(check_limit, &request) != 0)
        return -PYUSDT_KEEPS_MEMORY;
    if (request.all_far)
        atomic_store(&pyusdt_core.family->granted, GRANT);
    return 0;
}

void pyusdt_head_room_recheck(void)
{
    atomic_store(&pyusdt_core.family->granted, 0);
}

int pyusdt_head_room_check_addresses(uint64_t bytes)
{
    struct request request = {.more = bytes, .used = sum_ring_bytes(true)};

    return pyusdt_os_address_limit(check_limit, &request) != 0 ? -PYUSDT_KEEPS_ADDRESSES : 0;
}
