/*
 * The probes that a consumer knows: their names, ids, and the clauses of each.
 *
 * - Ids are 1, 2, …; they never change. The clauses of a probe are in the order of the source.
 * - The probes bound the memory: each name is kept once.
 */
#ifndef PYUSDT_CONSUMER_PROBE_REGISTRY_H
#define PYUSDT_CONSUMER_PROBE_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

struct pyusdt_probe_names {
    const char *provider, *module, *function, *name;
};

struct pyusdt_registry;

struct pyusdt_registry *pyusdt_registry_new(void); /* NULL: no memory */
void pyusdt_registry_free(struct pyusdt_registry *r);

/* Clause `clause` is for the probes that match these globs ("" matches all).  0 or -ENOMEM. */
int pyusdt_registry_describe(struct pyusdt_registry *r, uint32_t clause,
                             const struct pyusdt_probe_names *globs);
/* Returns the new probe's id, or -ENOMEM. */
int64_t pyusdt_registry_add(struct pyusdt_registry *r, const struct pyusdt_probe_names *names);

uint32_t pyusdt_registry_count(const struct pyusdt_registry *r);
bool pyusdt_registry_names(const struct pyusdt_registry *r, uint32_t id,
                           struct pyusdt_probe_names *names);
/* The clauses of a probe, ascending; `*n` of them, 0 where the id is unknown. */
const uint32_t *pyusdt_registry_clauses(const struct pyusdt_registry *r, uint32_t id, uint32_t *n);

#endif
