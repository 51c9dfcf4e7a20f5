/* The probe table of a control file (see probe_table.h). */
#include "shared/probe_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FULL_NAME 128

int pyusdt_probe_table_check(const struct pyusdt_probe_table *table)
{
    uint64_t probes = 0;

    if (table->nprobes == 0 || table->nprobes > PYUSDT_MAX_PROBES || table->strings_size < 1 ||
        table->strings[0] != '\0' || table->strings[table->strings_size - 1] != '\0')
        return -EINVAL;
    for (uint32_t i = 0; i < table->ndescs; i++) {
        const struct pyusdt_ctl_desc *desc = &table->descs[i];
        if (desc->provider >= table->strings_size || desc->module >= table->strings_size ||
            desc->function >= table->strings_size || desc->name >= table->strings_size ||
            desc->signature >= table->strings_size || desc->count == 0 ||
            desc->nargs > PYUSDT_MAX_ARGS || desc->strings >> PYUSDT_MAX_ARGS != 0 ||
            desc->kind > PYUSDT_DESC_PLACES)
            return -EINVAL;
        probes += desc->count;
    }
    return probes == table->nprobes ? 0 : -EINVAL;
}

/* function or name of the probe that is `number` of its family */
static const char *format_full_name(const struct pyusdt_probe_table *table,
                                    const struct pyusdt_ctl_desc *desc, uint32_t offset,
                                    uint32_t number, char *buffer)
{
    const char *base = table->strings + offset;
    if (desc->kind != PYUSDT_DESC_FAMILY)
        return base;
    snprintf(buffer, FULL_NAME, "%.*s%u", FULL_NAME - 12, base, number);
    return buffer;
}

int pyusdt_probe_table_match(const struct pyusdt_probe_table *table, const struct pyusdt_want *want,
                             pyusdt_match_fn *fn, void *arg)
{
    char provider[FULL_NAME], function[FULL_NAME], name[FULL_NAME];
    uint32_t first = 0;
    int r = 0;

    if (want->pid != 0 && want->pid != table->pid)
        return 0;
    for (uint32_t i = 0; i < table->ndescs && r == 0; first += table->descs[i++].count) {
        const struct pyusdt_ctl_desc *desc = &table->descs[i];
        snprintf(provider, sizeof provider, "%.*s%u", FULL_NAME - 12,
                 table->strings + desc->provider, table->pid);
        bool open =
            desc->kind == PYUSDT_DESC_PLACES; /* its module and function are not known yet */
        if (!pyusdt_glob(want->provider, provider) ||
            !(open || pyusdt_glob(want->module, table->strings + desc->module)))
            continue;
        for (uint32_t k = 0; k < desc->count && r == 0; k++)
            if (pyusdt_glob(want->name, format_full_name(table, desc, desc->name, k, name)) &&
                (open || pyusdt_glob(want->function,
                                     format_full_name(table, desc, desc->function, k, function))))
                r = fn(arg, first + k, desc);
    }
    return r;
}

int pyusdt_probe_table_info(const struct pyusdt_probe_table *table, uint32_t probe,
                            struct pyusdt_probe_info *info)
{
    char buffer[FULL_NAME];
    uint32_t first = 0;

    for (uint32_t i = 0; i < table->ndescs; first += table->descs[i++].count) {
        const struct pyusdt_ctl_desc *desc = &table->descs[i];
        if (probe - first >= desc->count)
            continue;
        memset(info, 0, sizeof *info);
        info->index = probe;
        info->nargs = desc->nargs;
        info->strings = desc->strings;
        info->places = desc->kind == PYUSDT_DESC_PLACES ? PYUSDT_PLACES_OPEN : PYUSDT_PLACES_NONE;
        snprintf(info->provider, sizeof info->provider, "%.*s%u", (int)sizeof info->provider - 12,
                 table->strings + desc->provider, table->pid);
        snprintf(info->module, sizeof info->module, "%s", table->strings + desc->module);
        snprintf(info->function, sizeof info->function, "%s",
                 format_full_name(table, desc, desc->function, probe - first, buffer));
        snprintf(info->signature, sizeof info->signature, "%s", table->strings + desc->signature);
        snprintf(info->name, sizeof info->name, "%s",
                 format_full_name(table, desc, desc->name, probe - first, buffer));
        return 0;
    }
    return -ENOENT;
}
