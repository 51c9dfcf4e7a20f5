/*
 * The target's probe table: a private copy that the process works on, and the public one in the
 * control file.
 *
 * - Both tables only grow. Sessions that are already served get what they want of new probes.
 * - The caller holds the lock of the slow paths.
 * - A reader of the public table finds it complete, or finds `changes` odd or different from
 *   before.
 * - A failure leaves both tables unchanged.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target/target.h"
#include "shared/os.h"

static uint32_t append_string(char *strings, uint32_t *used, const char *string)
{
    uint32_t at = *used, length = (uint32_t)strlen(string) + 1;
    memcpy(strings + at, string, length);
    *used += length;
    return at;
}

static const char *read_signature(const struct pyusdt_probe_desc *probe)
{
    return probe->signature ? probe->signature : "";
}

/* The bytes of a table of that size, in one mapping. */
static size_t table_bytes(uint32_t ndescs, uint32_t strings_size)
{
    return ndescs * sizeof(struct pyusdt_ctl_desc) + strings_size;
}

static void unmap_table(const struct pyusdt_probe_table *table)
{
    if (table->descs)
        munmap((void *)(uintptr_t)table->descs, table_bytes(table->ndescs, table->strings_size));
}

/* `old` with more behind it, in memory of its own. */
static int extend_table(const struct pyusdt_probe_table *old, const struct pyusdt_probe_desc *added,
                        unsigned n, struct pyusdt_probe_table *new)
{
    uint64_t probes = old->nprobes,
             size = old->strings_size ? old->strings_size : 1; /* offset 0: the empty string */
    uint32_t used = (uint32_t)size;
    struct pyusdt_ctl_desc *descs;
    char *strings;

    for (unsigned i = 0; i < n; i++) {
        if (added[i].nargs > PYUSDT_MAX_ARGS || added[i].strings >> PYUSDT_MAX_ARGS != 0 ||
            added[i].count > PYUSDT_MAX_PROBES || (added[i].places && added[i].count > 1))
            return -EINVAL;
        probes += added[i].count ? added[i].count : 1;
        size += strlen(added[i].provider) + strlen(added[i].module) + strlen(added[i].function) +
                strlen(added[i].name) + strlen(read_signature(&added[i])) + 5;
    }
    if (probes == 0)
        return -EINVAL;
    if (probes > PYUSDT_NO_PROBE || size > PYUSDT_STRINGS_MAX)
        return old->nprobes ? -ENOSPC : -EINVAL;
    descs = mmap(NULL, table_bytes(old->ndescs + n, (uint32_t)size), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (descs == MAP_FAILED)
        return -ENOMEM;
    strings = (char *)(descs + old->ndescs + n);
    if (old->descs) {
        memcpy(descs, old->descs, old->ndescs * sizeof *descs);
        memcpy(strings, old->strings, old->strings_size);
    }
    *new = (struct pyusdt_probe_table){
        .descs = descs, .strings = strings, .ndescs = old->ndescs + n, .pid = old->pid};
    for (unsigned i = 0; i < n; i++)
        descs[old->ndescs + i] = (struct pyusdt_ctl_desc){
            .provider = append_string(strings, &used, added[i].provider),
            .module = append_string(strings, &used, added[i].module),
            .function = append_string(strings, &used, added[i].function),
            .name = append_string(strings, &used, added[i].name),
            .count = added[i].count ? added[i].count : 1,
            .kind = added[i].count > 1 ? PYUSDT_DESC_FAMILY
                    : added[i].places  ? PYUSDT_DESC_PLACES
                                       : PYUSDT_DESC_PLAIN,
            .strings = added[i].strings,
            .nargs = added[i].nargs,
            .signature = append_string(strings, &used, read_signature(&added[i])),
        };
    new->strings_size = used;
    new->nprobes = (uint32_t)probes;
    return 0;
}

static bool begins_with(const struct pyusdt_probe_table *whole,
                        const struct pyusdt_probe_table *part)
{
    return whole->ndescs >= part->ndescs && whole->strings_size >= part->strings_size &&
           memcmp(whole->descs, part->descs, part->ndescs * sizeof *part->descs) == 0 &&
           memcmp(whole->strings, part->strings, part->strings_size) == 0;
}

/* If the same was published before (a NIF that is loaded again), the probes that were defined since
 * keep their numbers, because their owners still have these. */
int pyusdt_target_table_set(const struct pyusdt_probe_desc *added, unsigned n)
{
    const struct pyusdt_probe_table none = {0};
    struct pyusdt_probe_table table;
    int r = extend_table(&none, added, n, &table);

    if (r != 0)
        return r;
    if (begins_with(&pyusdt_core.table, &table)) {
        unmap_table(&table);
        return 0;
    }
    unmap_table(&pyusdt_core.table);
    pyusdt_core.table = table;
    return 0;
}

/* ---- the control file's ---- */

/* Every page that the table needs; the rest of the file is a hole. */
static int allocate_pages(int fd, const struct pyusdt_probe_table *table)
{
    const struct {
        uint64_t at, size;
    } parts[] = {
        {PYUSDT_CTL_WORDS, table->nprobes * sizeof(uint64_t)},
        {PYUSDT_CTL_DESCS, table->ndescs * sizeof(struct pyusdt_ctl_desc)},
        {PYUSDT_CTL_STRINGS, table->strings_size},
    };

    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int r = pyusdt_os_allocate(fd, parts[i].at, parts[i].size);
        if (r != 0)
            return r;
    }
    return 0;
}

int pyusdt_target_table_allocate(int fd)
{
    return allocate_pages(fd, &pyusdt_core.table);
}

void pyusdt_target_table_copy_to(struct pyusdt_ctl_header *ctl)
{
    const struct pyusdt_probe_table *table = &pyusdt_core.table;

    atomic_fetch_add(&ctl->changes, 1);
    atomic_thread_fence(memory_order_seq_cst);
    memcpy((char *)ctl + PYUSDT_CTL_DESCS, table->descs,
           table->ndescs * sizeof(struct pyusdt_ctl_desc));
    memcpy((char *)ctl + PYUSDT_CTL_STRINGS, table->strings, table->strings_size);
    ctl->ndescs = table->ndescs;
    ctl->strings_size = table->strings_size;
    atomic_store(&ctl->nprobes, table->nprobes);
    PYUSDT_HOOK(13);
    atomic_fetch_add(&ctl->changes, 1);
}

/* ---- growing ---- */

static int allocate_in_control_file(const struct pyusdt_probe_table *table)
{
    struct pyusdt_name name = {.kind = PYUSDT_FILE_CTL, .process = pyusdt_core.identity};
    int dir = pyusdt_rundir_open(pyusdt_core.rundir, NULL), fd, r;
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;

    if (dir < 0)
        return dir;
    pyusdt_name_format(&name, text);
    fd = pyusdt_file_open(dir, text, O_RDWR, &size);
    close(dir);
    if (fd < 0)
        return fd;
    r = size == PYUSDT_CTL_SIZE ? allocate_pages(fd, table) : -EIO;
    close(fd);
    return r;
}

int pyusdt_target_table_grow(const struct pyusdt_probe_desc *added, unsigned n)
{
    struct pyusdt_probe_table old = pyusdt_core.table, table;
    int r = extend_table(&old, added, n, &table);

    if (r != 0)
        return r;
    r = allocate_in_control_file(&table);
    if (r != 0) {
        unmap_table(&table);
        return r;
    }
    /* Sessions that read the control file from here on find the new probes. Earlier sessions are
     * found here. */
    pyusdt_core.table = table;
    pyusdt_target_table_copy_to(pyusdt_core.ctl);
    pyusdt_flight_add_probes(old.nprobes);
    atomic_thread_fence(memory_order_seq_cst);
    pyusdt_sessions_add_probes(old.nprobes);
    unmap_table(&old);
    return 0;
}
