/*
 * The ids of the probes of a source's targets, and the processes that these are.
 *
 * - The registry gives a probe its id when it is first asked for, and the probe keeps it. A new id
 *   moves the registry's lists of clauses.
 * - A target, and all targets of a host, have ids for a bounded number of code locations.
 */
#ifndef PYUSDT_CONSUMER_PROBE_IDS_H
#define PYUSDT_CONSUMER_PROBE_IDS_H

#include "consumer/probe_registry.h"
#include "consumer/state_block.h"
#include "events/event_source.h"

struct pyusdt_target_ids;

/* All zero but the registry, which it does not own, and uses (PYUSDT_USES_*): no target is known. */
struct pyusdt_ids {
    struct pyusdt_registry *registry;
    uint32_t uses;
    uint32_t ntargets;
    struct pyusdt_target_ids *targets; /* by target's number */
    struct pyusdt_process *process;    /* likewise */
    uint32_t *nplaces; /* ids of probes at places, by host (struct pyusdt_process) */
    uint32_t nhosts;
};

/* Targets that are known already cost nothing.  Returns 0, or -errno. */
int pyusdt_ids_add_targets(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed);
/* place 0: the probe itself.  0: there was no memory for the id, or too many places. */
uint32_t pyusdt_ids_find_or_add(struct pyusdt_ids *ids, const struct pyusdt_event_source *feed,
                                uint32_t target, uint32_t probe, uint32_t place);
/* Whether pyusdt_ids_find_or_add() would find it, and make nothing. */
bool pyusdt_ids_has(const struct pyusdt_ids *ids, uint32_t target, uint32_t probe, uint32_t place);
void pyusdt_ids_free(struct pyusdt_ids *ids);

#endif
