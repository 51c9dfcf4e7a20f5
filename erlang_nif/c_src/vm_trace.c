/*
 * The tracer module of the emulator (erl_tracer, see vm.h).
 *
 * The tracer's state names the source of a trace event: vm (flags of processes and ports),
 * function, bif, nif, exit, file, driver (patterns), the kinds of vm_calls.h, or telemetry (a
 * session of its own, for telemetry:::event), or watch (vm_watch.h).
 */
#include "vm.h"

#include "atoms.h"
#include "app_providers.h"
#include "vm_calls.h"
#include "vm_events.h"
#include "vm_open_calls.h"
#include "vm_watch.h"

#define BURST_US 100000

static void fire_receive(const struct pyusdt_vm_call *call)
{
    if (enif_is_port(call->env, call->tracee))
        pyusdt_vm_port_receive(call);
    else
        pyusdt_vm_queued(call);
}

static void fire_open_call(const struct pyusdt_vm_call *call)
{
    pyusdt_vm_open_call(call->env, call->tracee, call->term);
    pyusdt_vm_local_entry(call);
}

/* ---- which trace event is which ---- */

#define P(probe) (UINT64_C(1) << PYUSDT_VM_##probe)
#define GC_ENDS (P(PROCESS_HEAP_GROW) | P(PROCESS_HEAP_SHRINK))
#define UNBLOCKED (P(PROCESS_PORT_UNBLOCKED) | P(PORT_NOT_BUSY) | P(DIST_PORT_NOT_BUSY))
#define OF_PORTS \
    (P(PORT_COMMAND) | P(PORT_CONTROL) | P(PORT_CONNECT) | P(DRIVER_OUTPUT) | P(DRIVER_OUTPUTV) | \
     P(DRIVER_CONTROL))

#define HANDLES (P(GEN_SERVER_HANDLE_ENTRY) | P(GEN_SERVER_HANDLE_RETURN))

/* Calls that end in an exception return, too. */
#define KIND(state, kind, entries, returns) \
    {state, "call", (entries) | (returns), pyusdt_vm_call_entry, &pyusdt_vm_##kind, 0, 0}, \
        {state, "return_from", returns, pyusdt_vm_call_return, &pyusdt_vm_##kind, 0, 0}, \
        {state, "exception_from", returns, pyusdt_vm_call_return, &pyusdt_vm_##kind, 0, 0}

/* A call is also the beginning of its return: a session that wants only the return has the call
 * offered, and no event is made of it. */
static struct event {
    const char *state, *tag;
    uint64_t probes;
    void (*fire)(const struct pyusdt_vm_call *call);
    const struct pyusdt_vm_kind *kind;
    ERL_NIF_TERM state_atom, tag_atom;
} events[] = {
    {"function", "call", P(LOCAL_FUNCTION_ENTRY), pyusdt_vm_local_entry, NULL, 0, 0},
    {"returns", "call", P(LOCAL_FUNCTION_ENTRY) | P(FUNCTION_RETURN), fire_open_call, NULL, 0, 0},
    {"returns", "return_from", P(FUNCTION_RETURN), pyusdt_vm_local_return, NULL, 0, 0},
    {"returns", "exception_from", P(FUNCTION_RETURN), pyusdt_vm_local_return, NULL, 0, 0},
    {"vm", "send", P(MESSAGE_SEND) | P(MESSAGE_SEND_REMOTE), pyusdt_vm_send, NULL, 0, 0},
    {"vm", "receive", P(MESSAGE_QUEUED) | OF_PORTS, fire_receive, NULL, 0, 0},
    {"vm", "in", P(PROCESS_SCHEDULED) | UNBLOCKED, pyusdt_vm_scheduled, NULL, 0, 0},
    {"vm", "out", P(PROCESS_UNSCHEDULED) | P(PROCESS_HIBERNATE), pyusdt_vm_unscheduled, NULL, 0, 0},
    {"vm", "spawned", P(PROCESS_SPAWN), pyusdt_vm_spawned, NULL, 0, 0},
    {"vm", "exit", P(PROCESS_EXIT), pyusdt_vm_exit, NULL, 0, 0},
    {"vm", "gc_minor_start", P(GC_MINOR_START) | GC_ENDS, pyusdt_vm_gc_minor_start, NULL, 0, 0},
    {"vm", "gc_minor_end", P(GC_MINOR_END) | GC_ENDS, pyusdt_vm_gc_minor_end, NULL, 0, 0},
    {"vm", "gc_major_start", P(GC_MAJOR_START) | GC_ENDS, pyusdt_vm_gc_major_start, NULL, 0, 0},
    {"vm", "gc_major_end", P(GC_MAJOR_END) | GC_ENDS, pyusdt_vm_gc_major_end, NULL, 0, 0},
    {"vm", "open", P(PORT_OPEN) | P(DRIVER_START) | P(PORT_EXIT) | P(DRIVER_STOP) | OF_PORTS,
     pyusdt_vm_open, NULL, 0, 0},
    {"vm", "closed", P(PORT_EXIT) | P(DRIVER_STOP), pyusdt_vm_closed, NULL, 0, 0},
    {"vm", "call", P(GLOBAL_FUNCTION_ENTRY), pyusdt_vm_global_entry, NULL, 0, 0},
    {"bif", "call", P(BIF_ENTRY) | P(BIF_RETURN), pyusdt_vm_bif_entry, NULL, 0, 0},
    {"bif", "return_from", P(BIF_RETURN), pyusdt_vm_bif_return, NULL, 0, 0},
    {"bif", "exception_from", P(BIF_RETURN), pyusdt_vm_bif_return, NULL, 0, 0},
    {"nif", "call", P(NIF_ENTRY) | P(NIF_RETURN), pyusdt_vm_nif_entry, NULL, 0, 0},
    {"nif", "return_from", P(NIF_RETURN), pyusdt_vm_nif_return, NULL, 0, 0},
    {"nif", "exception_from", P(NIF_RETURN), pyusdt_vm_nif_return, NULL, 0, 0},
    {"file", "call", P(EFILE_ENTRY) | P(EFILE_RETURN), pyusdt_vm_file_entry, NULL, 0, 0},
    {"file", "return_from", P(EFILE_RETURN), pyusdt_vm_file_return, NULL, 0, 0},
    {"file", "exception_from", P(EFILE_RETURN), pyusdt_vm_file_exception, NULL, 0, 0},
    {"driver", "call", P(DRIVER_CALL) | P(DRIVER_INIT) | P(DRIVER_FINISH), pyusdt_vm_driver, NULL,
     0, 0},
    KIND("ets", ets, P(ETS_ENTRY), P(ETS_RETURN)),
    KIND("inet", inet, P(INET_ENTRY), P(INET_RETURN)),
    KIND("server_call", server_call, P(GEN_SERVER_CALL_ENTRY), P(GEN_SERVER_CALL_RETURN) | HANDLES),
    KIND("server_cast", server_cast, P(GEN_SERVER_CAST), 0),
    KIND("handle", handle, P(GEN_SERVER_HANDLE_ENTRY), P(GEN_SERVER_HANDLE_RETURN)),
    {"supervisor", "call", P(SUPERVISOR_RESTART), pyusdt_vm_restart, NULL, 0, 0},
    {"code", "call", P(CODE_LOAD), pyusdt_vm_load_code, NULL, 0, 0},
    {"exit", "call", P(PROCESS_EXIT_SIGNAL) | P(PROCESS_EXIT_SIGNAL_REMOTE), pyusdt_vm_exit_signal,
     NULL, 0, 0},
};

enum { EVENTS = sizeof events / sizeof events[0] };

bool pyusdt_vm_trace_load(ErlNifEnv *env)
{
    for (unsigned i = 0; i < EVENTS; i++) {
        events[i].state_atom = enif_make_atom(env, events[i].state);
        events[i].tag_atom = enif_make_atom(env, events[i].tag);
    }
    return pyusdt_vm_files_load(env) && pyusdt_vm_calls_load(env) && pyusdt_vm_open_calls_load() &&
           pyusdt_vm_watch_load();
}

static const struct event *find_event(ERL_NIF_TERM state, ERL_NIF_TERM tag)
{
    for (unsigned i = 0; i < EVENTS; i++)
        if (events[i].tag_atom == tag && events[i].state_atom == state)
            return &events[i];
    return NULL;
}

static bool is_any_wanted(uint64_t probes)
{
    for (; probes != 0; probes &= probes - 1)
        if (pyusdt_vm_is_wanted((unsigned)__builtin_ctzll(probes)))
            return true;
    return false;
}

/* ---- the tracer's two functions ---- */

/* Flags of processes stay until they are removed one by one, or by this answer. Patterns are
 * removed by one call. */
static bool is_flag_left(ERL_NIF_TERM state)
{
    return state == pyusdt_atoms.vm && !atomic_load(&pyusdt_vm.processes);
}

static bool is_off(ERL_NIF_TERM tracee)
{
    ERL_NIF_TERM controller = atomic_load_explicit(&pyusdt_vm.controller, memory_order_relaxed);

    return controller == 0 || controller == tracee;
}

static bool is_overrun(void)
{
    return atomic_load_explicit(&pyusdt_vm.overrun, memory_order_relaxed) != 0;
}

/* An event that is not made: a drop for each session and each of these probes that it wants, whatever
 * it would have done with the event. A call that is not traced has no return. */
static void drop(uint64_t probes)
{
    const struct pyusdt_args none = {.missing = ~0u};

    for (; probes != 0; probes &= probes - 1) {
        unsigned probe = (unsigned)__builtin_ctzll(probes);
        if (pyusdt_vm_is_wanted(probe))
            pyusdt_fire_at(pyusdt_vm.site[probe].index, 0, PYUSDT_VM_SESSIONS, &none);
    }
}

/* A call of a process with too many open ones: discarded, it leaves no frame on the stack. */
static bool is_too_deep(const ERL_NIF_TERM argv[])
{
    return argv[1] == pyusdt_atoms.returns && argv[0] == pyusdt_atoms.call &&
           !pyusdt_vm_may_open(argv[2]);
}

ERL_NIF_TERM pyusdt_nif_vm_enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    const struct event *event;

    (void)env, (void)argc;
    if (argv[0] == pyusdt_atoms.trace_status)
        return is_flag_left(argv[1]) ? pyusdt_atoms.remove : pyusdt_atoms.trace;
    if (argv[1] == pyusdt_atoms.returns && argv[0] != pyusdt_atoms.call)
        pyusdt_vm_close_call(argv[2]); /* whether or not anything is made of it */
    if (argv[1] == pyusdt_atoms.watch)
        return pyusdt_vm_watch_enabled(argv);
    if (argv[1] == pyusdt_atoms.telemetry)
        return pyusdt_telemetry_is_wanted() ? pyusdt_atoms.trace : pyusdt_atoms.discard;
    event = is_off(argv[2]) ? NULL : find_event(argv[1], argv[0]);
    if (!event || !is_any_wanted(event->probes))
        return pyusdt_atoms.discard;
    if (is_overrun() || is_too_deep(argv)) {
        drop(event->probes);
        return pyusdt_atoms.discard;
    }
    return is_flag_left(argv[1]) ? pyusdt_atoms.discard : pyusdt_atoms.trace;
}

/* False: too many events came on this scheduler, and all are discarded until the controlling
 * process reacts. The time of a burst begins at its first event. */
static bool is_within_rate(void)
{
    static _Thread_local struct {
        ErlNifTime since;
        unsigned count;
    } burst;
    unsigned most = atomic_load_explicit(&pyusdt_vm.burst, memory_order_relaxed);
    ErlNifTime took;

    if (most == 0)
        return true;
    if (burst.count++ == 0)
        burst.since = enif_monotonic_time(ERL_NIF_USEC);
    if (burst.count <= most)
        return true;
    took = enif_monotonic_time(ERL_NIF_USEC) - burst.since;
    burst.count = 0;
    if (took >= BURST_US)
        return true;
    atomic_store(&pyusdt_vm.overrun, took > 0 ? (unsigned)took : 1);
    return false;
}

ERL_NIF_TERM pyusdt_nif_vm_trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    const struct event *event = find_event(argv[1], argv[0]);
    const struct pyusdt_vm_call call = {env,
                                        argv[2],
                                        argv[3],
                                        argv[4],
                                        event ? event->kind : NULL,
                                        argv[0] == pyusdt_atoms.exception_from};

    (void)argc;
    if (argv[1] == pyusdt_atoms.telemetry)
        pyusdt_telemetry_fire(env, argv[3]);
    if (argv[1] == pyusdt_atoms.watch)
        pyusdt_vm_watch_trace(&call, argv[0]);
    if (!event)
        return pyusdt_atoms.ok;
    if (is_overrun())
        drop(event->probes); /* enabled() answered before that */
    else if (is_within_rate())
        event->fire(&call);
    else
        drop(~UINT64_C(0) >> (64 - PYUSDT_VM_COUNT)); /* all are switched off */
    return pyusdt_atoms.ok;
}
