/* The file of a process's last exceptions: see exceptions_file.h. */
#define _GNU_SOURCE
#include "target/exceptions_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pyusdt.h"
#include "shared/os.h"
#include "shared/sigbus_guard.h"
#include "target/target.h"

/* A child has the parent's identity until it has published itself. */
static bool is_published(void)
{
    pyusdt_demand(0);
    return pyusdt_is_published(0) && pyusdt_core.identity.pid == (uint32_t)getpid();
}

static int make_file(int dir)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_EXCEPTIONS, .process = pyusdt_core.identity};
    char text[PYUSDT_NAME_SIZE];

    if (!pyusdt_os_is_in_memory(dir))
        return -ENOTSUP;
    pyusdt_flight_remove_oldest(dir, PYUSDT_FILE_EXCEPTIONS);
    pyusdt_name_format(&name, text);
    pyusdt_rundir_unlink(dir, text); /* of a dead namesake */
    return pyusdt_file_make(dir, text, PYUSDT_EXCEPTIONS_SIZE);
}

static void fill_header(struct pyusdt_exceptions *file, uint32_t python)
{
    file->version = PYUSDT_EXCEPTIONS_VERSION;
    file->order = PYUSDT_EXCEPTIONS_ORDER;
    file->pid = pyusdt_core.identity.pid;
    file->python = python;
    file->starttime = pyusdt_core.identity.starttime;
    file->pidns = pyusdt_os_pidns();
    file->begun = pyusdt_wall_time();
    pyusdt_os_program_name(file->comm, sizeof file->comm);
    atomic_store(&file->magic, PYUSDT_EXCEPTIONS_MAGIC);
}

uint64_t pyusdt_wall_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct pyusdt_exceptions *pyusdt_exceptions_make(uint32_t python)
{
    struct pyusdt_exceptions *file;
    int dir = is_published() ? pyusdt_core_open_rundir() : -ENOTCONN, fd;

    if (dir < 0) {
        errno = -dir;
        return NULL;
    }
    fd = make_file(dir);
    close(dir);
    if (fd < 0) {
        errno = -fd;
        return NULL;
    }
    file = pyusdt_guard_map(NULL, PYUSDT_EXCEPTIONS_SIZE, PROT_READ | PROT_WRITE, fd);
    close(fd);
    if (file)
        fill_header(file, python);
    return file;
}
