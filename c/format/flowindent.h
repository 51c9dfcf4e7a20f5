/*
 * Flow indentation (-F): where a record's line begins, and with what arrow.
 *
 * - An indentation belongs to a thread. A probe called `entry`, or with a name that ends in -entry,
 *   begins a level; `return` and -return end one.
 * - Memory is bounded: more than FLOW_THREADS threads at once may share an indentation, and it does
 *   not grow beyond FLOW_DEEPEST.
 */
#ifndef PYUSDT_FORMAT_FLOWINDENT_H
#define PYUSDT_FORMAT_FLOWINDENT_H

#include <stdint.h>

enum { PYUSDT_FLOW_THREADS = 4096, PYUSDT_FLOW_DEEPEST = 4096 };

enum pyusdt_flow_kind { PYUSDT_FLOW_NONE, PYUSDT_FLOW_ENTRY, PYUSDT_FLOW_RETURN };

struct pyusdt_flow {
    struct {
        uint32_t tid, indent; /* indent 0: free */
    } threads[PYUSDT_FLOW_THREADS];
    uint32_t last_probe, last_clause; /* of the record before */
};

/* What a probe does, by its name. */
enum pyusdt_flow_kind pyusdt_flow_kind(const char *name);
/* What stands before the function. */
const char *pyusdt_flow_prefix(const char *provider, enum pyusdt_flow_kind kind);
/* The columns that the next record is indented by; *kind becomes NONE for a further clause of the same firing. */
uint32_t pyusdt_flow_step(struct pyusdt_flow *flow, uint32_t tid, uint32_t probe, uint32_t clause,
                          enum pyusdt_flow_kind *kind);

#endif
