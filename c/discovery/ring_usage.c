/* How full rings are, read from outside: see ring_usage.h. */
#define _GNU_SOURCE
#include "discovery/ring_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "discovery/rundir_iter.h"
#include "shared/layout.h"
#include "shared/os.h"

struct scan {
    pyusdt_ring_usage_fn *fn;
    void *arg;
    int dir;
    uint32_t lookups; /* in this directory */
};

/* Reads the beginning of a file; whether it is so long. */
static bool read_file(int dir, const char *name, void *to, size_t size)
{
    uint64_t length;
    int fd = pyusdt_file_open(dir, name, O_RDONLY, &length);
    bool whole = fd >= 0 && pread(fd, to, size, 0) == (ssize_t)size;

    if (fd >= 0)
        close(fd);
    return whole;
}

/* The pid of the session's tracer; 0 where it has left. */
static uint32_t read_tracer_pid(int dir, uint32_t slot, uint64_t generation)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_SESSION, .slot = slot};
    struct pyusdt_session_header header;
    char text[PYUSDT_NAME_SIZE];

    pyusdt_name_format(&name, text);
    if (!read_file(dir, text, &header, sizeof header) || header.magic != PYUSDT_SESSION_MAGIC ||
        header.generation != generation)
        return 0;
    return header.tracer;
}

static void add_rings(const struct pyusdt_area *area, struct pyusdt_ring_usage *found)
{
    uint32_t rings = atomic_load(&area->rings), probes = area->nprobes;

    found->rings = rings < PYUSDT_RINGS_MAX ? rings : PYUSDT_RINGS_MAX;
    found->room = found->rings * area->ring_size;
    for (uint32_t i = 0; i < found->rings; i++) {
        uint64_t head = atomic_load(&area->line[i].head), tail = atomic_load(&area->line[i].tail);
        found->published += head;
        found->unread += head - tail;
    }
    for (uint32_t i = 0; i < probes && i < PYUSDT_MAX_PROBES; i++)
        found->lost += atomic_load(&area->drops[i]);
}

/* Who it is; false: it does not run, as far as that can be known here. */
static bool read_process(struct scan *scan, const struct pyusdt_identity *who,
                         struct pyusdt_ring_usage *found)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .process = *who};
    struct pyusdt_ctl_header header;
    char text[PYUSDT_NAME_SIZE];

    pyusdt_name_format(&name, text);
    if (!read_file(scan->dir, text, &header, sizeof header) ||
        atomic_load(&header.magic) != PYUSDT_CTL_MAGIC ||
        atomic_load(&header.state) == PYUSDT_CTL_EXITED ||
        (header.pidns == pyusdt_os_pidns() && !pyusdt_is_alive(who)))
        return false;
    found->pid = pyusdt_find_local_pid(header.pidns, who, &scan->lookups);
    found->visible = found->pid != 0;
    if (!found->visible)
        found->pid = who->pid;
    memcpy(found->comm, header.comm, sizeof found->comm - 1);
    return true;
}

static int scan_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct scan *scan = arg;
    struct pyusdt_ring_usage found = {.rings = 0};
    struct pyusdt_area area;

    if (name->kind != PYUSDT_FILE_AREA || !read_process(scan, &name->process, &found) ||
        !read_file(scan->dir, text, &area, sizeof area) ||
        atomic_load(&area.magic) != PYUSDT_AREA_MAGIC || area.version != PYUSDT_LAYOUT_VERSION)
        return 0;
    found.tracer = read_tracer_pid(scan->dir, name->slot, name->generation);
    add_rings(&area, &found);
    return found.tracer ? scan->fn(scan->arg, &found) : 0;
}

static int scan_rundir(void *arg, const struct pyusdt_rundir_handle *in)
{
    struct scan *scan = arg;
    int r;

    scan->dir = in->dir;
    scan->lookups = 0;
    r = pyusdt_rundir_each(in->dir, scan_file, scan);
    return r == -E2BIG ? 0 : r;
}

int pyusdt_read_ring_usage(pyusdt_ring_usage_fn *fn, void *arg, struct pyusdt_error *error)
{
    struct scan scan = {.fn = fn, .arg = arg};

    return pyusdt_each_rundir(NULL, scan_rundir, &scan, error);
}
