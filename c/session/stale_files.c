/* Removing what dead tracers and targets have left: see stale_files.h. */
#define _GNU_SOURCE
#include "session/stale_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "session/control_file.h"
#include "shared/sigbus_guard.h"
#include "shared/os.h"
#include "shared/rundir.h"
#include "shared/session_slot.h"

/* Whoever still maps the file keeps its pages; a hole gives them back at once, and reads as zeros, unlike truncation. */
void pyusdt_discard_file(int dir, const char *text, bool mapped)
{
    uint64_t size;
    int fd = mapped ? pyusdt_file_open(dir, text, O_RDWR, &size) : -1;

    pyusdt_rundir_unlink(dir, text);
    if (fd >= 0) {
        pyusdt_os_discard_file(fd, size);
        close(fd);
    }
}

static bool is_valid(const struct pyusdt_ctl_header *header, uint64_t size)
{
    return header->magic == PYUSDT_CTL_MAGIC && header->version == PYUSDT_LAYOUT_VERSION &&
           pyusdt_control_header_fits(header, size);
}

struct sweep {
    int dir;
    uint32_t ours;
    bool others; /* there are sessions of other layouts */
};

/* true: a living session wants something of the process. Area and rings go by their own names. */
static bool clear_dead_slots(const struct sweep *sweep, struct pyusdt_ctl_header *ctl,
                             const struct pyusdt_ctl_header *header, bool alive)
{
    struct pyusdt_enable_bits bits = {.slot = (void *)((char *)ctl + header->slots),
                                      .words = (void *)((char *)ctl + header->words),
                                      .nprobes = header->nprobes};
    bool wanted = false;

    for (; bits.number < PYUSDT_MAX_SESSIONS; bits.number++, bits.slot++) {
        uint64_t generation = atomic_load(&bits.slot->wanted);
        if (generation == 0)
            continue;
        if (pyusdt_session_is_alive(sweep->dir, bits.number, generation))
            wanted = true;
        else if (alive && bits.number != sweep->ours) /* in our slot, attaching does it */
            pyusdt_enable_bits_undo(&bits, sweep->dir, generation);
    }
    return wanted;
}

static void sweep_ctl(const struct sweep *sweep, const char *text, const struct pyusdt_name *name)
{
    bool alive = pyusdt_is_alive(&name->process), keep = alive;
    struct pyusdt_ctl_header header, *ctl = NULL;
    uint64_t size;
    int fd = pyusdt_file_open(sweep->dir, text, O_RDWR, &size);

    if (fd < 0)
        return;
    keep |= pyusdt_ctl_is_being_made(fd);
    if (size >= sizeof header && size <= PYUSDT_CTL_MAX)
        ctl = pyusdt_guard_map(NULL, size, PROT_READ | PROT_WRITE, fd);
    close(fd);
    if (ctl) {
        memcpy(&header, ctl, sizeof header);
        if (header.magic == PYUSDT_CTL_MAGIC && header.pidns != pyusdt_os_pidns())
            keep = alive = true; /* its pid says nothing here */
        if (is_valid(&header, size))
            keep |= clear_dead_slots(sweep, ctl, &header, alive);
        else if (header.magic == PYUSDT_CTL_MAGIC && header.version != PYUSDT_LAYOUT_VERSION)
            keep |= sweep->others; /* a kept session may want its table */
        pyusdt_guard_unmap(ctl, size);
    }
    if (!keep)
        pyusdt_rundir_unlink(sweep->dir, text);
}

/* Of a tracer that died before anybody had joined it: no control file leads there. */
static void sweep_session(const struct sweep *sweep, uint32_t slot)
{
    int fd = slot != sweep->ours ? pyusdt_slot_claim(sweep->dir, slot) : -EBUSY;

    if (fd >= 0)
        pyusdt_slot_release(sweep->dir, slot, fd);
}

static int sweep_one(void *arg, const char *text, const struct pyusdt_name *name)
{
    const struct sweep *sweep = arg;

    if (name->kind == PYUSDT_FILE_CTL)
        sweep_ctl(sweep, text, name);
    else if (name->kind == PYUSDT_FILE_SESSION)
        sweep_session(sweep, name->slot);
    else if ((name->kind == PYUSDT_FILE_AREA || name->kind == PYUSDT_FILE_RING) &&
             !pyusdt_session_is_alive(sweep->dir, name->slot, name->generation))
        pyusdt_discard_file(sweep->dir, text, name->kind == PYUSDT_FILE_RING);
    return 0;
}

static int find_other_layouts(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct sweep *sweep = arg;

    (void)text;
    /* no session has generation 0, so that none of this layout lives by it */
    return name->kind == PYUSDT_FILE_SESSION &&
           (sweep->others = pyusdt_session_is_alive(sweep->dir, name->slot, 0));
}

void pyusdt_remove_stale_files(int dir, uint32_t ours)
{
    struct sweep sweep = {dir, ours, false};

    pyusdt_rundir_each(dir, find_other_layouts, &sweep);
    pyusdt_rundir_each(dir, sweep_one, &sweep);
}
