/* What is fired for calls of BIFs of ets, with their table and what they took: see vm_events.h.
 *
 * A process is in one such call at a time, but for a few (select, a match in a continuation), which the emulator may
 * go on with on another thread: so a return finds its call by the process. */
#include "vm_events.h"

#include "vm_mfa.h"

enum { RUNNING = 1024 };

static struct running {
    ERL_NIF_TERM process;
    char table[PYUSDT_VM_MFA_TEXT];
    ErlNifTime since;
} running[RUNNING];

static ErlNifMutex *lock; /* held for a copy of one entry */

bool pyusdt_vm_ets_load(void)
{
    if (!lock)
        lock = enif_mutex_create("pyusdt_vm_ets");
    return lock != NULL;
}

/* A name, or a reference. */
static void read_table(const struct pyusdt_vm_call *call, char table[PYUSDT_VM_MFA_TEXT])
{
    ERL_NIF_TERM first, list;
    const ERL_NIF_TERM *mfa;
    int n;

    table[0] = '\0';
    if (enif_get_tuple(call->env, call->term, &n, &mfa) && n == 3 && enif_get_list_cell(call->env, mfa[2], &first, &list) &&
        (enif_is_atom(call->env, first) || enif_is_ref(call->env, first)))
        enif_snprintf(table, PYUSDT_VM_MFA_TEXT, "%T", first);
}

static void put_call(struct pyusdt_vm_event *event, const struct pyusdt_vm_call *call, const struct running *now)
{
    pyusdt_vm_put_who(event, 0, call->tracee);
    pyusdt_vm_put_mfa(event, 1, call->term);
    if (now->table[0])
        pyusdt_vm_put_text(event, 2, now->table);
}

void pyusdt_vm_ets_entry(const struct pyusdt_vm_call *call)
{
    struct running now = {.process = call->tracee};
    struct pyusdt_vm_event event;

    read_table(call, now.table);
    if (pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_ETS_ENTRY)) {
        put_call(&event, call, &now);
        pyusdt_vm_event_offer(&event, PYUSDT_VM_ETS_ENTRY);
    }
    if (!pyusdt_vm_is_wanted(PYUSDT_VM_ETS_RETURN))
        return;
    now.since = enif_monotonic_time(ERL_NIF_NSEC);
    enif_mutex_lock(lock);
    running[now.process / 16 % RUNNING] = now;
    enif_mutex_unlock(lock);
}

/* Another process may have taken the place: then table and time are absent. */
void pyusdt_vm_ets_return(const struct pyusdt_vm_call *call)
{
    ErlNifTime now = enif_monotonic_time(ERL_NIF_NSEC);
    struct pyusdt_vm_event event;
    struct running then;

    enif_mutex_lock(lock);
    then = running[call->tracee / 16 % RUNNING];
    running[call->tracee / 16 % RUNNING].process = 0;
    enif_mutex_unlock(lock);
    if (!pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_ETS_RETURN))
        return;
    if (then.process != call->tracee)
        then.table[0] = '\0';
    put_call(&event, call, &then);
    if (then.process == call->tracee)
        pyusdt_vm_put_integer(&event, 3, now - then.since);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_ETS_RETURN);
}
