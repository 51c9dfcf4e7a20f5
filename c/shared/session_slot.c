/* Session slots (see session_slot.h). */
#define _GNU_SOURCE
#include "shared/session_slot.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/test_hook.h"
#include "shared/os.h"
#include "shared/rundir.h"

static void format_slot_name(uint32_t slot, char *text)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_SESSION, .slot = slot};
    pyusdt_name_format(&name, text);
}

/* -EWOULDBLOCK: something of this name is no file here, or not the directory's owner's: a slot
 * less. */
static int open_or_make(int dir, const char *text)
{
    int fd = pyusdt_rundir_open_in(dir, text, O_RDWR | O_CREAT | O_EXCL, 0600);
    bool there = fd == -EEXIST;

    if (there)
        fd = pyusdt_rundir_open_in(dir, text, O_RDWR, 0);
    return fd == -ELOOP || fd == -EXDEV || fd == -EISDIR || (there && fd == -EACCES) ? -EWOULDBLOCK
                                                                                     : fd;
}

static bool read_header(int fd, struct pyusdt_session_header *header)
{
    return pread(fd, header, sizeof *header, 0) == (ssize_t)sizeof *header;
}

/* Its magic and version are at the same offset in every layout. Only its own layout knows whether
 * it is kept, and which files belong to it. */
static bool is_of_other_layout(int fd)
{
    struct {
        uint64_t magic;
        uint32_t version;
    } is;

    return pread(fd, &is, sizeof is, 0) == (ssize_t)sizeof is && is.magic == PYUSDT_SESSION_MAGIC &&
           is.version != PYUSDT_LAYOUT_VERSION;
}

int pyusdt_slot_claim(int dir, uint32_t slot)
{
    char text[PYUSDT_NAME_SIZE];
    struct stat ours, named;
    int fd;

    format_slot_name(slot, text);
    fd = open_or_make(dir, text);
    if (fd < 0)
        return fd;
    /* Locked, and still the file that has the name: the one that others will find locked. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &ours) != 0 ||
        fstatat(dir, text, &named, AT_SYMLINK_NOFOLLOW) != 0 || ours.st_ino != named.st_ino ||
        ours.st_dev != named.st_dev || !S_ISREG(ours.st_mode) || ours.st_nlink != 1 ||
        is_of_other_layout(fd)) {
        close(fd);
        return -EWOULDBLOCK;
    }
    return fd;
}

bool pyusdt_session_is_kept(const struct pyusdt_session_header *header)
{
    return header->magic == PYUSDT_SESSION_MAGIC && header->version == PYUSDT_LAYOUT_VERSION &&
           header->state == PYUSDT_SESSION_STARTED && header->keep_ns != 0 &&
           pyusdt_now() - header->seen < header->keep_ns;
}

void pyusdt_slot_release(int dir, uint32_t slot, int fd)
{
    struct pyusdt_session_header header;
    char text[PYUSDT_NAME_SIZE];

    format_slot_name(slot, text);
    if (!read_header(fd, &header) || !pyusdt_session_is_kept(&header))
        pyusdt_rundir_unlink(dir, text); /* while it is locked by us */
    close(fd);
}

bool pyusdt_session_is_alive(int dir, uint32_t slot, uint64_t generation)
{
    struct pyusdt_session_header header;
    char text[PYUSDT_NAME_SIZE];
    bool alive = false;
    uint64_t size;
    int fd;

    format_slot_name(slot, text);
    fd = pyusdt_file_open(dir, text, O_RDONLY, &size);
    if (fd < 0)
        return fd == -EMFILE || fd == -ENFILE; /* no verdict: let it live */
    if (is_of_other_layout(fd))
        alive = true; /* its files are touched by its layout only */
    else if (read_header(fd, &header) && header.generation == generation)
        alive = flock(fd, LOCK_SH | LOCK_NB) != 0 /* closing fd releases everything */
                || pyusdt_session_is_kept(&header);
    close(fd);
    return alive;
}

void pyusdt_enable_bits_clear(const struct pyusdt_enable_bits *bits)
{
    uint64_t bit = 1ull << bits->number;

    for (uint32_t probe = 0; probe < bits->nprobes; probe++)
        if (atomic_load_explicit(&bits->words[probe], memory_order_relaxed) & bit)
            atomic_fetch_and(&bits->words[probe], ~bit);
    PYUSDT_HOOK(32);
}

int pyusdt_enable_bits_undo(const struct pyusdt_enable_bits *bits, int dir, uint64_t generation)
{
    int fd = pyusdt_slot_claim(dir, bits->number);

    if (fd < 0)
        return fd;
    if (atomic_compare_exchange_strong(&bits->slot->wanted, &generation, 0)) {
        PYUSDT_HOOK(26);
        pyusdt_enable_bits_clear(bits);
    }
    pyusdt_slot_release(dir, bits->number, fd);
    return 0;
}
