/* Events of processes (see vm_events.h). */
#include "vm_events.h"

#include <limits.h>

#include "atoms.h"
#include "vm_calls.h"

bool pyusdt_vm_event_begin(struct pyusdt_vm_event *event, ErlNifEnv *env, unsigned probe)
{
    if (!pyusdt_vm_is_wanted(probe) ||
        !pyusdt_firing_begin_at(&event->firing, &pyusdt_vm.site[probe]))
        return false;
    pyusdt_firing_no_more(&event->firing, 0);
    event->env = env;
    event->used = 0;
    return true;
}

void pyusdt_vm_event_offer(const struct pyusdt_vm_event *event, unsigned probe)
{
    pyusdt_firing_offer_at(&event->firing, &pyusdt_vm.site[probe]);
}

/* ---- processes ---- */

bool pyusdt_vm_find_option(const struct pyusdt_vm_call *call, ERL_NIF_TERM key, ERL_NIF_TERM *value)
{
    return enif_get_map_value(call->env, call->options, key, value);
}

static void fire_with_mfa(const struct pyusdt_vm_call *call, unsigned probe, ERL_NIF_TERM mfa)
{
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_put_mfa(&event, 1, mfa);
    pyusdt_vm_event_offer(&event, probe);
}

void pyusdt_vm_spawned(const struct pyusdt_vm_call *call)
{
    ERL_NIF_TERM mfa;

    if (pyusdt_vm_find_option(call, pyusdt_atoms.extra, &mfa))
        fire_with_mfa(call, PYUSDT_VM_PROCESS_SPAWN, mfa);
}

void pyusdt_vm_exit(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_PROCESS_EXIT))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_put(&event, 1, call->term);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_PROCESS_EXIT);
}

void pyusdt_vm_scheduled(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_blocked blocked;

    if (pyusdt_vm_cache_remove(&pyusdt_vm_blocked, call->tracee, &blocked))
        pyusdt_vm_unblocked(call, &blocked);
    fire_with_mfa(call, PYUSDT_VM_PROCESS_SCHEDULED, call->term);
}

static bool is_hibernate(const struct pyusdt_vm_call *call)
{
    const ERL_NIF_TERM *mfa;
    int n;

    return enif_get_tuple(call->env, call->term, &n, &mfa) && n == 3 &&
           mfa[0] == pyusdt_atoms.erlang && mfa[1] == pyusdt_atoms.hibernate;
}

void pyusdt_vm_unscheduled(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;

    if (is_hibernate(call))
        fire_with_mfa(call, PYUSDT_VM_PROCESS_HIBERNATE, call->term);
    if (!pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_PROCESS_UNSCHEDULED))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_PROCESS_UNSCHEDULED);
}

/* ---- messages ---- */

/* The addition of the controlling process's match specification: {Flags, Label, Serial, From,
 * Previous}; without it: zeros. */
static void put_token(struct pyusdt_vm_event *event, const struct pyusdt_vm_call *call,
                      unsigned arg)
{
    const ERL_NIF_TERM *token;
    ERL_NIF_TERM result;
    int n, value;

    if (!pyusdt_vm_find_option(call, pyusdt_atoms.match_spec_result, &result) ||
        !enif_get_tuple(call->env, result, &n, &token) || n != 5)
        return;
    pyusdt_vm_put_integer(event, arg, enif_get_int(call->env, token[1], &value) ? value : INT_MIN);
    pyusdt_vm_put_integer(event, arg + 1, enif_get_int(call->env, token[4], &value) ? value : 0);
    pyusdt_vm_put_integer(event, arg + 2, enif_get_int(call->env, token[2], &value) ? value : 0);
}

/* The receiver by name on another node: {Name, Node}. */
static const ERL_NIF_TERM *find_remote_name(ErlNifEnv *env, ERL_NIF_TERM to)
{
    const ERL_NIF_TERM *parts;
    int n;

    return enif_get_tuple(env, to, &n, &parts) && n == 2 ? parts : NULL;
}

static bool is_remote_pid(ErlNifEnv *env, ERL_NIF_TERM to)
{
    ErlNifPid local;

    return enif_is_pid(env, to) && !enif_get_local_pid(env, to, &local);
}

static void put_remote(struct pyusdt_vm_event *event, unsigned node, ERL_NIF_TERM to)
{
    const ERL_NIF_TERM *named = find_remote_name(event->env, to);

    if (named)
        pyusdt_vm_put(event, node, named[1]);
    else
        pyusdt_vm_put_node(event, node, to);
    pyusdt_vm_put(event, node + 1, named ? named[0] : to);
}

void pyusdt_vm_put_receiver(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM to)
{
    ErlNifPid local;

    if (enif_get_local_pid(event->env, to, &local))
        pyusdt_vm_put_local(event, arg, to);
    else
        pyusdt_vm_put(event, arg, to);
}

static bool is_remote(ErlNifEnv *env, ERL_NIF_TERM to)
{
    return is_remote_pid(env, to) || find_remote_name(env, to);
}

void pyusdt_vm_send(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;
    ERL_NIF_TERM to;
    unsigned probe, size;

    if (!pyusdt_vm_find_option(call, pyusdt_atoms.extra, &to))
        return;
    probe = is_remote(call->env, to) ? PYUSDT_VM_MESSAGE_SEND_REMOTE : PYUSDT_VM_MESSAGE_SEND;
    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    size = probe == PYUSDT_VM_MESSAGE_SEND ? 2 : 3;
    if (probe == PYUSDT_VM_MESSAGE_SEND)
        pyusdt_vm_put_receiver(&event, 1, to);
    else
        put_remote(&event, 1, to);
    pyusdt_vm_put_words(&event, size, call->term);
    put_token(&event, call, size + 1);
    pyusdt_vm_event_offer(&event, probe);
}

void pyusdt_vm_queued(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_MESSAGE_QUEUED))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_put_words(&event, 1, call->term);
    put_token(&event, call, 3);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_MESSAGE_QUEUED);
}

/* A call of erlang:exit/2. */
void pyusdt_vm_exit_signal(const struct pyusdt_vm_call *call)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];
    struct pyusdt_vm_event event;
    unsigned probe;
    bool is_far;

    if (!pyusdt_vm_read_arguments(call, arguments) || arguments[1] == 0)
        return;
    is_far = is_remote(call->env, arguments[0]);
    probe = is_far ? PYUSDT_VM_PROCESS_EXIT_SIGNAL_REMOTE : PYUSDT_VM_PROCESS_EXIT_SIGNAL;
    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    if (is_far)
        put_remote(&event, 1, arguments[0]);
    else
        pyusdt_vm_put_receiver(&event, 1, arguments[0]);
    pyusdt_vm_put(&event, is_far ? 3 : 2, arguments[1]);
    pyusdt_vm_event_offer(&event, probe);
}

/* ---- garbage collection ---- */

/* {Key, Value} of a list. */
static int64_t find_info(const struct pyusdt_vm_call *call, ERL_NIF_TERM key)
{
    ERL_NIF_TERM head, list = call->term;
    const ERL_NIF_TERM *pair;
    ErlNifSInt64 value;
    int n;

    while (enif_get_list_cell(call->env, list, &head, &list))
        if (enif_get_tuple(call->env, head, &n, &pair) && n == 2 && pair[0] == key)
            return enif_get_int64(call->env, pair[1], &value) ? value : 0;
    return 0;
}

static void fire_with_words(const struct pyusdt_vm_call *call, unsigned probe)
{
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    if (pyusdt_firing_reads(&event.firing, 1))
        pyusdt_vm_put_integer(&event, 1, find_info(call, pyusdt_atoms.wordsize));
    pyusdt_vm_event_offer(&event, probe);
}

/* The heap as it was when the collection of this scheduler began. */
static _Thread_local struct {
    ERL_NIF_TERM process;
    int64_t size;
} heap;

static void read_heap_before(const struct pyusdt_vm_call *call)
{
    if (!pyusdt_vm_is_wanted(PYUSDT_VM_PROCESS_HEAP_GROW) &&
        !pyusdt_vm_is_wanted(PYUSDT_VM_PROCESS_HEAP_SHRINK))
        return;
    heap.process = call->tracee;
    heap.size = find_info(call, pyusdt_atoms.heap_block_size);
}

static void fire_heap_change(const struct pyusdt_vm_call *call)
{
    struct pyusdt_vm_event event;
    unsigned probe;
    int64_t size;

    if (heap.process != call->tracee)
        return;
    heap.process = 0;
    size = find_info(call, pyusdt_atoms.heap_block_size);
    probe = size > heap.size ? PYUSDT_VM_PROCESS_HEAP_GROW : PYUSDT_VM_PROCESS_HEAP_SHRINK;
    if (size == heap.size || !pyusdt_vm_event_begin(&event, call->env, probe))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_put_integer(&event, 1, heap.size);
    pyusdt_vm_put_integer(&event, 2, size);
    pyusdt_vm_event_offer(&event, probe);
}

void pyusdt_vm_gc_major_start(const struct pyusdt_vm_call *call)
{
    fire_with_words(call, PYUSDT_VM_GC_MAJOR_START);
    read_heap_before(call);
}

void pyusdt_vm_gc_minor_start(const struct pyusdt_vm_call *call)
{
    fire_with_words(call, PYUSDT_VM_GC_MINOR_START);
    read_heap_before(call);
}

void pyusdt_vm_gc_major_end(const struct pyusdt_vm_call *call)
{
    fire_with_words(call, PYUSDT_VM_GC_MAJOR_END);
    fire_heap_change(call);
}

void pyusdt_vm_gc_minor_end(const struct pyusdt_vm_call *call)
{
    fire_with_words(call, PYUSDT_VM_GC_MINOR_END);
    fire_heap_change(call);
}
