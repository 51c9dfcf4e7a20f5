/*
 * Events of calls and returns of functions (see vm_events.h). Their depth is unknown and always 0.
 */
#include "vm_events.h"
#include "vm_mfa.h"

/* The demand for the probe at this function. */
static bool begin_firing(struct pyusdt_firing *firing, const struct pyusdt_probe_site *site,
                         uint64_t sessions)
{
    firing->probe = site->index;
    firing->attached = __atomic_load_n(site->semaphore, __ATOMIC_RELAXED) != 0;
    firing->demand = sessions != 0 ? pyusdt_demand_at(site->index, sessions) : 0;
    firing->reads = firing->attached ? ~0u : firing->demand;
    firing->args.missing = ~firing->reads;
    pyusdt_firing_no_more(firing, 0);
    return firing->reads != 0;
}

static void offer_firing(const struct pyusdt_firing *firing, const struct pyusdt_probe_site *site,
                         struct pyusdt_vm_mfa *mfa, uint64_t sessions)
{
    if (firing->attached && site->entry)
        pyusdt_site_call(site->entry, firing->args.value);
    if (firing->demand != 0)
        pyusdt_fire_at(site->index, pyusdt_vm_mfa_place(mfa), sessions, &firing->args);
}

static void fire_function(const struct pyusdt_vm_call *call, unsigned probe,
                          enum pyusdt_vm_event_side side)
{
    const struct pyusdt_probe_site *site = &pyusdt_vm.site[probe];
    struct pyusdt_vm_mfa *mfa;
    struct pyusdt_vm_event event;
    uint64_t sessions;

    if (!pyusdt_vm_is_wanted(probe) || !(mfa = pyusdt_vm_find_mfa(call->env, call->term)))
        return;
    sessions = pyusdt_vm_mfa_sessions(mfa, side, site->index);
    if (!begin_firing(&event.firing, site, sessions))
        return;
    event.env = call->env;
    event.used = 0;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_firing_text(&event.firing, 1, mfa->text, mfa->length);
    offer_firing(&event.firing, site, mfa, sessions);
}

void pyusdt_vm_local_entry(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_LOCAL_FUNCTION_ENTRY, PYUSDT_VM_ENTRY);
}

void pyusdt_vm_local_return(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_FUNCTION_RETURN, PYUSDT_VM_RETURN);
}

void pyusdt_vm_global_entry(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_GLOBAL_FUNCTION_ENTRY, PYUSDT_VM_GLOBAL);
}

void pyusdt_vm_bif_entry(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_BIF_ENTRY, PYUSDT_VM_ENTRY);
}

void pyusdt_vm_bif_return(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_BIF_RETURN, PYUSDT_VM_RETURN);
}

void pyusdt_vm_nif_entry(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_NIF_ENTRY, PYUSDT_VM_ENTRY);
}

void pyusdt_vm_nif_return(const struct pyusdt_vm_call *call)
{
    fire_function(call, PYUSDT_VM_NIF_RETURN, PYUSDT_VM_RETURN);
}
