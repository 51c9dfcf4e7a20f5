#define _GNU_SOURCE
#include "discovery/ring_usage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "discovery/rundir_iter.h"
#include "shared/layout.h"
#include "shared/os.h"

struct looking {
    pyusdt_look_fn *fn;
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
static uint32_t tracer_of(int dir, uint32_t slot, uint64_t generation)
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

static void add_up(const struct pyusdt_area *area, struct pyusdt_looked *found)
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
static bool is_there(struct looking *looking, const struct pyusdt_identity *who,
                     struct pyusdt_looked *found)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .process = *who};
    struct pyusdt_ctl_header header;
    char text[PYUSDT_NAME_SIZE];

    pyusdt_name_format(&name, text);
    if (!read_file(looking->dir, text, &header, sizeof header) ||
        atomic_load(&header.magic) != PYUSDT_CTL_MAGIC ||
        atomic_load(&header.state) == PYUSDT_CTL_EXITED ||
        (header.pidns == pyusdt_os_pidns() && !pyusdt_is_alive(who)))
        return false;
    found->pid = pyusdt_pid_here(header.pidns, who, &looking->lookups);
    found->visible = found->pid != 0;
    if (!found->visible)
        found->pid = who->pid;
    memcpy(found->comm, header.comm, sizeof found->comm - 1);
    return true;
}

static int look_at(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct looking *looking = arg;
    struct pyusdt_looked found = {.rings = 0};
    struct pyusdt_area area;

    if (name->kind != PYUSDT_FILE_AREA || !is_there(looking, &name->process, &found) ||
        !read_file(looking->dir, text, &area, sizeof area) ||
        atomic_load(&area.magic) != PYUSDT_AREA_MAGIC || area.version != PYUSDT_LAYOUT_VERSION)
        return 0;
    found.tracer = tracer_of(looking->dir, name->slot, name->generation);
    add_up(&area, &found);
    return found.tracer ? looking->fn(looking->arg, &found) : 0;
}

static int look_in(void *arg, const struct pyusdt_entered *in)
{
    struct looking *looking = arg;
    int r;

    looking->dir = in->dir;
    looking->lookups = 0;
    r = pyusdt_rundir_each(in->dir, look_at, looking);
    return r == -E2BIG ? 0 : r;
}

int pyusdt_look(pyusdt_look_fn *fn, void *arg, struct pyusdt_error *error)
{
    struct looking looking = {.fn = fn, .arg = arg};

    return pyusdt_directories_each(NULL, look_in, &looking, error);
}
