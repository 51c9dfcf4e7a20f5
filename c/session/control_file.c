/* Copying and checking control files: see control_file.h. */
#define _GNU_SOURCE
#include "session/control_file.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "session/session_state.h"
#include "shared/probe_table.h"

#define COPY_TRIES 64 /* at a table that its target is changing */

static struct pyusdt_table_copy *new_copy(const struct pyusdt_ctl_header *shared,
                                          const struct pyusdt_ctl_header *header)
{
    uint64_t descs = (uint64_t)header->ndescs * sizeof(struct pyusdt_ctl_desc),
             size = descs + header->strings_size;
    struct pyusdt_table_copy *table = calloc(1, sizeof *table + size);

    if (!table)
        return NULL;
    memcpy(table->bytes, (const char *)shared + header->descs, descs);
    memcpy(table->bytes + descs, (const char *)shared + header->strings, header->strings_size);
    table->size = (uint32_t)size;
    table->users = 1;
    table->table = (struct pyusdt_probe_table){.descs = (const void *)table->bytes,
                                               .strings = table->bytes + descs,
                                               .ndescs = header->ndescs,
                                               .strings_size = header->strings_size,
                                               .nprobes = header->nprobes};
    return table;
}

void pyusdt_table_copy_release(struct pyusdt_table_copy *table)
{
    if (table && --table->users == 0)
        free(table);
}

/* Copies and checks the probe table. Takes over the one of `like` where it is the same. */
static int copy_table(const struct pyusdt_ctl_header *shared,
                      const struct pyusdt_ctl_header *header, const struct pyusdt_target *like,
                      struct pyusdt_table_copy **copy)
{
    uint64_t descs = (uint64_t)header->ndescs * sizeof(struct pyusdt_ctl_desc),
             size = descs + header->strings_size;
    struct pyusdt_table_copy *table;

    if (size > PYUSDT_TABLE_MAX || header->descs % 8 != 0 || header->descs > header->size ||
        header->size - header->descs < descs || header->strings > header->size ||
        header->size - header->strings < header->strings_size || header->strings_size == 0)
        return -EINVAL;
    table = new_copy(shared, header);
    if (!table)
        return -ENOMEM;
    if (pyusdt_probe_table_check(&table->table) != 0) {
        free(table);
        return -EINVAL;
    }
    if (like && like->table->size == size && like->table->table.ndescs == header->ndescs &&
        memcmp(like->table->bytes, table->bytes, size) == 0) {
        free(table);
        table = like->table;
        table->users++;
    }
    *copy = table;
    return 0;
}

bool pyusdt_control_header_fits(const struct pyusdt_ctl_header *header, uint64_t size)
{
    return header->nprobes <= PYUSDT_MAX_PROBES && header->slots % 64 == 0 &&
           header->slots <= size &&
           size - header->slots >= PYUSDT_MAX_SESSIONS * sizeof(struct pyusdt_ctl_slot) &&
           header->words % 8 == 0 && header->words <= size &&
           size - header->words >= header->nprobes * sizeof(uint64_t);
}

static int check_header(const struct pyusdt_ctl_header *header, const struct pyusdt_identity *who,
                        uint64_t size)
{
    if (header->magic != PYUSDT_CTL_MAGIC)
        return header->magic == 0 ? -EAGAIN : -EINVAL; /* still being made, or no control file */
    if (header->version != PYUSDT_LAYOUT_VERSION)
        return -EPROTONOSUPPORT;
    if (header->size != size || header->pid != who->pid || header->starttime != who->starttime ||
        header->nprobes == 0 || !pyusdt_control_header_fits(header, size))
        return -EINVAL;
    return 0;
}

int pyusdt_control_copy(const struct pyusdt_target *target, const struct pyusdt_target *like,
                        struct pyusdt_ctl_header *header, struct pyusdt_table_copy **copy)
{
    for (int i = 0; i < COPY_TRIES; i++) {
        uint32_t changes = atomic_load(&target->ctl->changes);
        int r;

        memcpy(header, target->ctl, sizeof *header);
        r = check_header(header, &target->who, target->ctl_size);
        if (r == -EPROTONOSUPPORT)
            return r; /* whose other fields are elsewhere */
        if (r == 0)
            r = copy_table(target->ctl, header, like, copy);
        atomic_thread_fence(memory_order_seq_cst);
        if (changes % 2 == 0 && atomic_load(&target->ctl->changes) == changes) {
            header->changes = changes;
            return r;
        }
        if (r == 0)
            pyusdt_table_copy_release(*copy);
        *copy = NULL;
        sched_yield();
    }
    return -EAGAIN;
}
