/* The part of the state block about the process that fired: see state_block.h. */
#include "consumer/state_block.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Cut where it is too long, and padded with NULs, as D's strings must be. */
static void put_name(char *to, size_t size, const char *name)
{
    size_t n = strnlen(name, size - 1);
    memcpy(to, name, n);
    memset(to + n, 0, size - n);
}

void pyusdt_state_fill_process(struct pyusdt_state *s, uint32_t uses, uint32_t id,
                               const struct pyusdt_process *process,
                               const struct pyusdt_registry *registry)
{
    struct pyusdt_probe_names names;
    s->probe = id;
    s->pid = process->pid;
    s->uid = process->uid;
    s->gid = process->gid;
    s->ppid = (uint64_t)process->host << 32 | process->ppid;
    if (uses & PYUSDT_USES_ANCESTORS)
        memcpy(s->ancestors, process->ancestors, sizeof s->ancestors);
    if (uses & PYUSDT_USES_EXECNAME)
        memcpy(s->execname, process->comm, sizeof s->execname);
    if (uses & PYUSDT_USES_NAMES && pyusdt_registry_names(registry, id, &names)) {
        put_name(s->probeprov, sizeof s->probeprov, names.provider);
        put_name(s->probemod, sizeof s->probemod, names.module);
        put_name(s->probefunc, sizeof s->probefunc, names.function);
        put_name(s->probename, sizeof s->probename, names.name);
    }
}

void pyusdt_state_fill_stack(struct pyusdt_state *s, const struct pyusdt_stack_area *area,
                             const uint64_t *frames, uint32_t count)
{
    uint64_t *to = (uint64_t *)(void *)((uint8_t *)s + area->offset);
    uint64_t before = to[0] <= area->frames ? to[0] : area->frames,
             n = count < area->frames ? count : area->frames;

    to[0] = n;
    memcpy(to + 1, frames, n * sizeof *to);
    if (before > n)
        memset(to + 1 + n, 0, (before - n) * sizeof *to);
}

uint32_t pyusdt_find_parent(uint32_t pid)
{
    char path[32], line[128];
    uint32_t parent = 0;

    snprintf(path, sizeof path, "/proc/%u/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "PPid: %" SCNu32, &parent) != 1)
        ;
    if (file)
        fclose(file);
    return parent;
}

void pyusdt_find_ancestors(struct pyusdt_process *process)
{
    uint32_t pid = process->pid;

    for (size_t i = 0; i < PYUSDT_ANCESTORS; i++)
        process->ancestors[i] = pid = pid ? pyusdt_find_parent(pid) : 0;
}
