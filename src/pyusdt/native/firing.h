/* Who wants an event and what of it, found before the application's code is run for it.
 *
 * In:      the probe's index, and whether a USDT tracer is attached to its site.
 * Out:     which arguments somebody reads; room for their values.
 * Always:  while nobody wants the event, nothing else is looked at. */
#ifndef PYUSDT_NATIVE_FIRING_H
#define PYUSDT_NATIVE_FIRING_H

#include <stdint.h>

#include "native/convert.h"
#include "pyusdt.h"

struct pyusdt_firing {
    unsigned probe;
    int attached;    /* a USDT tracer is: it may read everything */
    uint32_t demand; /* of the embedded sessions */
    uint32_t reads;  /* bit i: somebody reads argument i */
    struct pyusdt_args args;
};

/* 0: nobody wants it. */
static inline int pyusdt_firing_begin(struct pyusdt_firing *firing, unsigned probe, int attached)
{
    firing->probe = probe;
    firing->attached = attached;
    firing->demand = pyusdt_wanted(probe) ? pyusdt_demand(probe) : 0;
    firing->reads = attached ? ~0u : firing->demand;
    firing->args.missing = ~firing->reads;
    return firing->reads != 0;
}

static inline int pyusdt_firing_reads(const struct pyusdt_firing *firing, unsigned arg)
{
    return (firing->reads >> arg & 1) != 0;
}

static inline void pyusdt_firing_string(struct pyusdt_firing *firing, unsigned arg, const struct pyusdt_string *string)
{
    firing->args.value[arg] = (uintptr_t)string->address;
    firing->args.length[arg] = string->length;
}

/* The arguments from `first` on are absent.  (A site takes all that there can be.)  Not by clearing the whole struct
 * first: the string instruction that compilers make of that costs a twentieth of an event. */
static inline void pyusdt_firing_no_more(struct pyusdt_firing *firing, unsigned first)
{
    for (unsigned arg = first; arg < PYUSDT_MAX_ARGS; arg++) {
        firing->args.value[arg] = 0;
        firing->args.length[arg] = 0;
    }
}

#endif
