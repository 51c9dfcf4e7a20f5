/* The state that the tracer (vm_trace.c) and the NIFs around it (vm.c) share. */
#ifndef PYUSDT_NIF_VM_STATE_H
#define PYUSDT_NIF_VM_STATE_H

#include <erl_nif.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "pyusdt.h"
#include "vm_probes.h"

#pragma GCC visibility push(hidden)

struct pyusdt_vm_state {
    /* of a probe that is not made, and cannot be wanted */
    struct pyusdt_probe_site site[PYUSDT_VM_COUNT];
    _Atomic ERL_NIF_TERM controller; /* its pid, an immediate term; 0: none */
    atomic_bool secrets;             /* values whose names are those of secrets are shown */
    atomic_bool processes;           /* flags of processes are set */
    atomic_uint burst; /* events of one scheduler in 100 ms that are too many; 0: none are */
    /* there were so many: microseconds they took, at least 1. All is dropped until the
     * controlling process has taken everything away and begins anew */
    atomic_uint overrun;
};

extern struct pyusdt_vm_state pyusdt_vm;

bool pyusdt_vm_trace_load(ErlNifEnv *env); /* makes the atoms; false: no memory */

#pragma GCC visibility pop

/* The enable word's bit of the flight recorder, which wants everything and is no reason to trace
 * anything. */
#define PYUSDT_VM_SESSIONS (~(UINT64_C(1) << PYUSDT_MAX_SESSIONS))

static inline bool pyusdt_vm_is_wanted(unsigned probe)
{
    const struct pyusdt_probe_site *site = &pyusdt_vm.site[probe];

    return __atomic_load_n(site->semaphore, __ATOMIC_RELAXED) != 0 ||
           (__atomic_load_n(&pyusdt_enabled_words[site->index], __ATOMIC_RELAXED) &
            PYUSDT_VM_SESSIONS) != 0;
}

#endif
