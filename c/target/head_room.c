/*
 * Limits the memory of the tracing buffers, so that the traced program keeps enough for itself.
 *
 * The limits are the free space of the run directory's file system, and the limits of the process's
 * memory and addresses (os.h). A request gets 0, or the limit that is too near (-PYUSDT_KEEPS_…).
 *
 * - Buffers take at most a quarter of themselves and the program's free memory together.
 * - An eighth or a quarter of the whole limit stays free in any case, for memory that the program
 *   has reserved but not touched yet.
 * - Reading the limits takes about 50 us. If all of them are far away, the next GRANT bytes are
 *   granted without reading them again.
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
    (16ull << 20) /* the least free space of a file system, unless an eighth of it is more; */
/* and of a process's memory or addresses, of which others' buffers are not known: a quarter */
#define FREE_MEMORY (64ull << 20)

struct request {
    uint64_t more, used; /* requested bytes, and bytes that our buffers have already */
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

/* The buffers of all processes there belong to pyusdt. A tmpfs without a limit reports no blocks.
 */
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

/* Bytes of all rings of this process: rings with pages, or all mapped ones. A ring that is made or
 * removed meanwhile may be missed. */
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
