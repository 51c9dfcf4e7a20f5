/*
 * Events of calls and returns of functions (see vm_events.h). Their depth is unknown and always 0.
 */
#include <string.h>

#include "atoms.h"
#include "term_encode.h"
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

/* What a call has beside its function: its arguments, or what it returned or raised. */
struct outcome {
    ERL_NIF_TERM value; /* 0: unknown */
    const char *text;   /* of an entry the caller, of a return the exception's class; "": none */
};

static void put_outcome(struct pyusdt_firing *firing, const struct pyusdt_vm_call *call,
                        const struct outcome *outcome, struct pyusdt_term *term)
{
    if (pyusdt_firing_reads(firing, 3) && outcome->value != 0) {
        if (atomic_load_explicit(&pyusdt_vm.secrets, memory_order_relaxed))
            pyusdt_term_encode(call->env, term, outcome->value);
        else
            pyusdt_term_encode_redacted(call->env, term, outcome->value);
        pyusdt_firing_text(firing, 3, term->bytes, term->length);
    }
    if (pyusdt_firing_reads(firing, PYUSDT_VM_CALLER))
        pyusdt_firing_text(firing, PYUSDT_VM_CALLER, outcome->text,
                           (uint32_t)strlen(outcome->text));
}

static void fire_function(const struct pyusdt_vm_call *call, unsigned probe,
                          enum pyusdt_vm_event_side side, const struct outcome *outcome)
{
    const struct pyusdt_probe_site *site = &pyusdt_vm.site[probe];
    struct pyusdt_vm_mfa *mfa;
    struct pyusdt_vm_event event;
    struct pyusdt_term term;
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
    put_outcome(&event.firing, call, outcome, &term);
    offer_firing(&event.firing, site, mfa, sessions);
}

/* A copy: the next function that is looked up may take the cached text's place. "": unknown, or no
 * tracer reads it. */
static void write_caller(const struct pyusdt_vm_call *call, char text[PYUSDT_VM_MFA_TEXT])
{
    const struct pyusdt_vm_mfa *mfa = NULL;
    ERL_NIF_TERM caller;

    if (pyusdt_vm_find_option(call, pyusdt_atoms.match_spec_result, &caller))
        mfa = pyusdt_vm_find_mfa(call->env, caller);
    if (mfa)
        memcpy(text, mfa->text, PYUSDT_VM_MFA_TEXT);
    else
        text[0] = '\0';
}

/* {Module, Function, Arguments} */
static void fire_entry(const struct pyusdt_vm_call *call, unsigned probe,
                       enum pyusdt_vm_event_side side)
{
    char caller[PYUSDT_VM_MFA_TEXT];
    struct outcome outcome = {.text = caller};
    const ERL_NIF_TERM *mfa;
    int n;

    write_caller(call, caller);
    if (enif_get_tuple(call->env, call->term, &n, &mfa) && n == 3 &&
        enif_is_list(call->env, mfa[2]))
        outcome.value = mfa[2];
    fire_function(call, probe, side, &outcome);
}

static const char *name_class(ERL_NIF_TERM class)
{
    return class == pyusdt_atoms.error ? "error" : class == pyusdt_atoms.exit ? "exit" : "throw";
}

/* The value is {Class, Value} of an exception. */
static void fire_return(const struct pyusdt_vm_call *call, unsigned probe)
{
    struct outcome outcome = {.text = ""};
    const ERL_NIF_TERM *pair;
    int n;

    if (!pyusdt_vm_find_option(call, pyusdt_atoms.extra, &outcome.value))
        outcome.value = 0;
    else if (call->is_exception && enif_get_tuple(call->env, outcome.value, &n, &pair) && n == 2) {
        outcome.text = name_class(pair[0]);
        outcome.value = pair[1];
    }
    fire_function(call, probe, PYUSDT_VM_RETURN, &outcome);
}

void pyusdt_vm_local_entry(const struct pyusdt_vm_call *call)
{
    fire_entry(call, PYUSDT_VM_LOCAL_FUNCTION_ENTRY, PYUSDT_VM_ENTRY);
}

void pyusdt_vm_local_return(const struct pyusdt_vm_call *call)
{
    fire_return(call, PYUSDT_VM_FUNCTION_RETURN);
}

void pyusdt_vm_global_entry(const struct pyusdt_vm_call *call)
{
    fire_entry(call, PYUSDT_VM_GLOBAL_FUNCTION_ENTRY, PYUSDT_VM_GLOBAL);
}

void pyusdt_vm_bif_entry(const struct pyusdt_vm_call *call)
{
    fire_entry(call, PYUSDT_VM_BIF_ENTRY, PYUSDT_VM_ENTRY);
}

void pyusdt_vm_bif_return(const struct pyusdt_vm_call *call)
{
    fire_return(call, PYUSDT_VM_BIF_RETURN);
}

void pyusdt_vm_nif_entry(const struct pyusdt_vm_call *call)
{
    fire_entry(call, PYUSDT_VM_NIF_ENTRY, PYUSDT_VM_ENTRY);
}

void pyusdt_vm_nif_return(const struct pyusdt_vm_call *call)
{
    fire_return(call, PYUSDT_VM_NIF_RETURN);
}
