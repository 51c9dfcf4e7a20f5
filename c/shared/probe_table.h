/*
 * The probe table of a control file, and which of its probes match a description.
 *
 * The target uses it on its own table, the tracer on a copy that pyusdt_probe_table_check() has
 * accepted.
 */
#ifndef PYUSDT_PROBE_TABLE_H
#define PYUSDT_PROBE_TABLE_H

#include "shared/layout.h"

#pragma GCC visibility push(hidden)

struct pyusdt_probe_table {
    const struct pyusdt_ctl_desc *descs;
    const char *strings;
    uint32_t ndescs;
    uint32_t strings_size;
    uint32_t nprobes;
    uint32_t pid;
};

/* 0, or -EINVAL if an offset, a count or a missing NUL would lead out of the table. */
int pyusdt_probe_table_check(const struct pyusdt_probe_table *table);

/* Calls fn for every probe that the want matches, one with places whatever module and function
 * are wanted; stops when fn returns nonzero and returns that. */
typedef int pyusdt_match_fn(void *arg, uint32_t probe, const struct pyusdt_ctl_desc *desc);
int pyusdt_probe_table_match(const struct pyusdt_probe_table *table, const struct pyusdt_want *want,
                             pyusdt_match_fn *fn, void *arg);

/* Names and arguments of a probe, or -ENOENT. */
int pyusdt_probe_table_info(const struct pyusdt_probe_table *table, uint32_t probe,
                            struct pyusdt_probe_info *info);

#pragma GCC visibility pop

#endif
