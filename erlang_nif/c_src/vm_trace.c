/* The tracer module of the emulator (erl_tracer): see vm.h.
 *
 * In:      trace events, with what the tracer's state says of their source: vm (flags of processes and ports),
 *          function, bif, nif, exit (patterns).
 * Out:     an event of each probe that the trace event stands for and that anybody wants. */
#include <limits.h>
#include <string.h>

#include "vm.h"
#include "vm_ports.h"
#include "vm_state.h"
#include "vm_text.h"

#define BURST_US 100000

/* inet's commands of control begin here (its drivers' header of OTP); scripts know them without. */
#define INET_CONTROL 0x03f1a300u

static ERL_NIF_TERM atom_ok, atom_trace, atom_discard, atom_remove, atom_trace_status;
static ERL_NIF_TERM atom_extra, atom_match_spec_result, atom_wordsize, atom_heap_block_size;
static ERL_NIF_TERM atom_command, atom_control, atom_connect, atom_close, atom_erlang, atom_hibernate;
static ERL_NIF_TERM state_vm;

/* One trace event. */
struct call {
    ErlNifEnv *env;
    ERL_NIF_TERM tracee, term, options;
};

bool pyusdt_vm_event_begin(struct pyusdt_vm_event *event, ErlNifEnv *env, unsigned probe)
{
    if (!pyusdt_firing_begin_at(&event->firing, &pyusdt_vm.site[probe]))
        return false;
    pyusdt_firing_no_more(&event->firing, 0);
    event->env = env;
    event->used = 0;
    return true;
}

static bool begin(struct pyusdt_vm_event *event, const struct call *call, unsigned probe)
{
    return pyusdt_vm_is_wanted(probe) && pyusdt_vm_event_begin(event, call->env, probe);
}

static void offer(const struct pyusdt_vm_event *event, unsigned probe)
{
    pyusdt_firing_offer_at(&event->firing, &pyusdt_vm.site[probe]);
}

/* ---- processes ---- */

static bool option(const struct call *call, ERL_NIF_TERM key, ERL_NIF_TERM *value)
{
    return enif_get_map_value(call->env, call->options, key, value);
}

static void with_mfa(const struct call *call, unsigned probe, ERL_NIF_TERM mfa)
{
    struct pyusdt_vm_event event;

    if (!begin(&event, call, probe))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    pyusdt_vm_put_mfa(&event, 1, mfa);
    offer(&event, probe);
}

static void fire_spawned(const struct call *call)
{
    ERL_NIF_TERM mfa;

    if (option(call, atom_extra, &mfa))
        with_mfa(call, PYUSDT_VM_PROCESS_SPAWN, mfa);
}

static void fire_exit(const struct call *call)
{
    struct pyusdt_vm_event event;

    if (!begin(&event, call, PYUSDT_VM_PROCESS_EXIT))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    pyusdt_vm_put(&event, 1, call->term);
    offer(&event, PYUSDT_VM_PROCESS_EXIT);
}

static void fire_in(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_PROCESS_SCHEDULED, call->term);
}

static bool is_hibernate(const struct call *call)
{
    const ERL_NIF_TERM *mfa;
    int n;

    return enif_get_tuple(call->env, call->term, &n, &mfa) && n == 3 && mfa[0] == atom_erlang && mfa[1] == atom_hibernate;
}

static void fire_out(const struct call *call)
{
    struct pyusdt_vm_event event;

    if (is_hibernate(call))
        with_mfa(call, PYUSDT_VM_PROCESS_HIBERNATE, call->term);
    if (!begin(&event, call, PYUSDT_VM_PROCESS_UNSCHEDULED))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    offer(&event, PYUSDT_VM_PROCESS_UNSCHEDULED);
}

/* ---- messages ---- */

/* What a match specification of the controlling process adds: {Flags, Label, Serial, From, Previous}; without: zeros. */
static void put_token(struct pyusdt_vm_event *event, const struct call *call, unsigned arg)
{
    const ERL_NIF_TERM *token;
    ERL_NIF_TERM result;
    int n, value;

    if (!option(call, atom_match_spec_result, &result) || !enif_get_tuple(call->env, result, &n, &token) || n != 5)
        return;
    pyusdt_vm_put_integer(event, arg, enif_get_int(call->env, token[1], &value) ? value : INT_MIN);
    pyusdt_vm_put_integer(event, arg + 1, enif_get_int(call->env, token[4], &value) ? value : 0);
    pyusdt_vm_put_integer(event, arg + 2, enif_get_int(call->env, token[2], &value) ? value : 0);
}

/* The receiver by name on another node: {Name, Node}. */
static const ERL_NIF_TERM *named_elsewhere(ErlNifEnv *env, ERL_NIF_TERM to)
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

static void put_far(struct pyusdt_vm_event *event, unsigned node, ERL_NIF_TERM to)
{
    const ERL_NIF_TERM *named = named_elsewhere(event->env, to);

    if (named)
        pyusdt_vm_put(event, node, named[1]);
    else
        pyusdt_vm_put_node(event, node, to);
    pyusdt_vm_put(event, node + 1, named ? named[0] : to);
}

static void put_receiver(struct pyusdt_vm_event *event, unsigned arg, ERL_NIF_TERM to)
{
    ErlNifPid local;

    if (enif_get_local_pid(event->env, to, &local))
        pyusdt_vm_put_who(event, arg, to);
    else
        pyusdt_vm_put(event, arg, to);
}

static bool is_remote(ErlNifEnv *env, ERL_NIF_TERM to)
{
    return is_remote_pid(env, to) || named_elsewhere(env, to);
}

static void fire_send(const struct call *call)
{
    struct pyusdt_vm_event event;
    ERL_NIF_TERM to;
    unsigned probe, size;

    if (!option(call, atom_extra, &to))
        return;
    probe = is_remote(call->env, to) ? PYUSDT_VM_MESSAGE_SEND_REMOTE : PYUSDT_VM_MESSAGE_SEND;
    if (!begin(&event, call, probe))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    size = probe == PYUSDT_VM_MESSAGE_SEND ? 2 : 3;
    if (probe == PYUSDT_VM_MESSAGE_SEND)
        put_receiver(&event, 1, to);
    else
        put_far(&event, 1, to);
    pyusdt_vm_put_words(&event, size, call->term);
    put_token(&event, call, size + 1);
    offer(&event, probe);
}

static void fire_queued(const struct call *call)
{
    struct pyusdt_vm_event event;

    if (!begin(&event, call, PYUSDT_VM_MESSAGE_QUEUED))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    pyusdt_vm_put_words(&event, 1, call->term);
    put_token(&event, call, 3);
    offer(&event, PYUSDT_VM_MESSAGE_QUEUED);
}

/* A call of erlang:exit/2. */
static void fire_exit_signal(const struct call *call)
{
    ERL_NIF_TERM to, reason, list;
    struct pyusdt_vm_event event;
    const ERL_NIF_TERM *mfa;
    unsigned probe;
    bool far;
    int n;

    if (!enif_get_tuple(call->env, call->term, &n, &mfa) || n != 3 || !enif_get_list_cell(call->env, mfa[2], &to, &list) ||
        !enif_get_list_cell(call->env, list, &reason, &list))
        return;
    far = is_remote(call->env, to);
    probe = far ? PYUSDT_VM_PROCESS_EXIT_SIGNAL_REMOTE : PYUSDT_VM_PROCESS_EXIT_SIGNAL;
    if (!begin(&event, call, probe))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    if (far)
        put_far(&event, 1, to);
    else
        put_receiver(&event, 1, to);
    pyusdt_vm_put(&event, far ? 3 : 2, reason);
    offer(&event, probe);
}

/* ---- garbage collection ---- */

/* {Key, Value} of a list. */
static int64_t info(const struct call *call, ERL_NIF_TERM key)
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

static void with_words(const struct call *call, unsigned probe)
{
    struct pyusdt_vm_event event;

    if (!begin(&event, call, probe))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    if (pyusdt_firing_reads(&event.firing, 1))
        pyusdt_vm_put_integer(&event, 1, info(call, atom_wordsize));
    offer(&event, probe);
}

/* The heap as it was when the collection of this scheduler began. */
static _Thread_local struct {
    ERL_NIF_TERM process;
    int64_t size;
} heap;

static void heap_before(const struct call *call)
{
    if (!pyusdt_vm_is_wanted(PYUSDT_VM_PROCESS_HEAP_GROW) && !pyusdt_vm_is_wanted(PYUSDT_VM_PROCESS_HEAP_SHRINK))
        return;
    heap.process = call->tracee;
    heap.size = info(call, atom_heap_block_size);
}

static void heap_after(const struct call *call)
{
    struct pyusdt_vm_event event;
    unsigned probe;
    int64_t size;

    if (heap.process != call->tracee)
        return;
    heap.process = 0;
    size = info(call, atom_heap_block_size);
    probe = size > heap.size ? PYUSDT_VM_PROCESS_HEAP_GROW : PYUSDT_VM_PROCESS_HEAP_SHRINK;
    if (size == heap.size || !begin(&event, call, probe))
        return;
    pyusdt_vm_put_who(&event, 0, call->tracee);
    pyusdt_vm_put_integer(&event, 1, heap.size);
    pyusdt_vm_put_integer(&event, 2, size);
    offer(&event, probe);
}

static void fire_major_start(const struct call *call)
{
    with_words(call, PYUSDT_VM_GC_MAJOR_START);
    heap_before(call);
}

static void fire_minor_start(const struct call *call)
{
    with_words(call, PYUSDT_VM_GC_MINOR_START);
    heap_before(call);
}

static void fire_major_end(const struct call *call)
{
    with_words(call, PYUSDT_VM_GC_MAJOR_END);
    heap_after(call);
}

static void fire_minor_end(const struct call *call)
{
    with_words(call, PYUSDT_VM_GC_MINOR_END);
    heap_after(call);
}

/* ---- ports ---- */

/* A process, its port, the port's name: what most probes of ports begin with. */
static bool begin_port(struct pyusdt_vm_event *event, const struct call *call, unsigned probe, ERL_NIF_TERM who,
                       const struct pyusdt_vm_port *port)
{
    if (!begin(event, call, probe))
        return false;
    if (who)
        pyusdt_vm_put_who(event, 0, who);
    pyusdt_vm_put_who(event, 1, port->port);
    pyusdt_vm_put_text(event, 2, port->name);
    return true;
}

/* The same three in another order: driver-start, driver-stop and port-open. */
static void fire_named(const struct call *call, unsigned probe, const struct pyusdt_vm_port *port)
{
    struct pyusdt_vm_event event;

    if (!begin(&event, call, probe))
        return;
    if (port->owner)
        pyusdt_vm_put_who(&event, 0, port->owner);
    pyusdt_vm_put_text(&event, 1, port->name);
    pyusdt_vm_put_who(&event, 2, port->port);
    offer(&event, probe);
}

static void fire_open(const struct call *call)
{
    struct pyusdt_vm_port port = {.port = call->tracee, .owner = call->term};
    ERL_NIF_TERM name;

    if (option(call, atom_extra, &name))
        enif_snprintf(port.name, sizeof port.name, "%T", name);
    pyusdt_vm_ports_add(&port);
    fire_named(call, PYUSDT_VM_PORT_OPEN, &port);
    fire_named(call, PYUSDT_VM_DRIVER_START, &port);
}

static void fire_closed(const struct call *call)
{
    const struct pyusdt_vm_port port = pyusdt_vm_ports_find(call->tracee);
    struct pyusdt_vm_event event;

    if (begin_port(&event, call, PYUSDT_VM_PORT_EXIT, port.owner, &port)) {
        pyusdt_vm_put(&event, 3, call->term);
        offer(&event, PYUSDT_VM_PORT_EXIT);
    }
    fire_named(call, PYUSDT_VM_DRIVER_STOP, &port);
}

/* Drivers of OTP that have no outputv. */
static bool has_output(const struct pyusdt_vm_port *port)
{
    return strncmp(port->name, "udp_inet", 8) == 0 || strncmp(port->name, "sctp_inet", 9) == 0 ||
           strncmp(port->name, "ram_file_drv", 12) == 0;
}

static void fire_port_command(const struct call *call, ERL_NIF_TERM who, const struct pyusdt_vm_port *port,
                              const char *type)
{
    struct pyusdt_vm_event event;

    if (!begin_port(&event, call, PYUSDT_VM_PORT_COMMAND, who, port))
        return;
    pyusdt_vm_put_text(&event, 3, type);
    offer(&event, PYUSDT_VM_PORT_COMMAND);
}

static void fire_output(const struct call *call, ERL_NIF_TERM who, const struct pyusdt_vm_port *port, ERL_NIF_TERM data)
{
    unsigned probe = has_output(port) ? PYUSDT_VM_DRIVER_OUTPUT : PYUSDT_VM_DRIVER_OUTPUTV;
    struct pyusdt_vm_event event;

    fire_port_command(call, who, port, "command");
    if (!begin_port(&event, call, probe, who, port))
        return;
    pyusdt_vm_put_bytes(&event, 3, data);
    offer(&event, probe);
}

static void fire_connect(const struct call *call, ERL_NIF_TERM who, const struct pyusdt_vm_port *port, ERL_NIF_TERM owner)
{
    struct pyusdt_vm_event event;

    fire_port_command(call, who, port, "connect");
    pyusdt_vm_ports_connect(port->port, owner);
    if (!begin_port(&event, call, PYUSDT_VM_PORT_CONNECT, who, port))
        return;
    put_receiver(&event, 3, owner);
    offer(&event, PYUSDT_VM_PORT_CONNECT);
}

static void fire_control(const struct call *call, ERL_NIF_TERM who, const struct pyusdt_vm_port *port, ERL_NIF_TERM what)
{
    struct pyusdt_vm_event event;
    const ERL_NIF_TERM *parts;
    unsigned number;
    int n;

    if (!enif_get_tuple(call->env, what, &n, &parts) || n != 2 || !enif_get_uint(call->env, parts[0], &number))
        return;
    if ((number & ~0xffu) == INET_CONTROL)
        number &= 0xff;
    if (begin_port(&event, call, PYUSDT_VM_PORT_CONTROL, who, port)) {
        pyusdt_vm_put_integer(&event, 3, number);
        offer(&event, PYUSDT_VM_PORT_CONTROL);
    }
    if (begin_port(&event, call, PYUSDT_VM_DRIVER_CONTROL, who, port)) {
        pyusdt_vm_put_integer(&event, 3, number);
        pyusdt_vm_put_bytes(&event, 4, parts[1]);
        offer(&event, PYUSDT_VM_DRIVER_CONTROL);
    }
}

/* {Process, close}, {Process, {command | control | connect, What}} */
static void fire_port(const struct call *call)
{
    const struct pyusdt_vm_port port = pyusdt_vm_ports_find(call->tracee);
    const ERL_NIF_TERM *parts, *what;
    int n;

    if (!enif_get_tuple(call->env, call->term, &n, &parts) || n != 2)
        return;
    if (parts[1] == atom_close)
        fire_port_command(call, parts[0], &port, "close");
    if (!enif_get_tuple(call->env, parts[1], &n, &what) || n != 2)
        return;
    if (what[0] == atom_command)
        fire_output(call, parts[0], &port, what[1]);
    else if (what[0] == atom_connect)
        fire_connect(call, parts[0], &port, what[1]);
    else if (what[0] == atom_control)
        fire_control(call, parts[0], &port, what[1]);
}

static void fire_receive(const struct call *call)
{
    if (enif_is_port(call->env, call->tracee))
        fire_port(call);
    else
        fire_queued(call);
}

/* ---- functions: their depth is not known, so it is 0 ---- */

static void fire_function(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_LOCAL_FUNCTION_ENTRY, call->term);
}

static void fire_global(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_GLOBAL_FUNCTION_ENTRY, call->term);
}

static void fire_function_return(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_FUNCTION_RETURN, call->term);
}

static void fire_bif(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_BIF_ENTRY, call->term);
}

static void fire_bif_return(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_BIF_RETURN, call->term);
}

static void fire_nif(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_NIF_ENTRY, call->term);
}

static void fire_nif_return(const struct call *call)
{
    with_mfa(call, PYUSDT_VM_NIF_RETURN, call->term);
}

/* ---- which trace event is which ---- */

#define P(probe) (UINT64_C(1) << PYUSDT_VM_##probe)
#define GC_ENDS (P(PROCESS_HEAP_GROW) | P(PROCESS_HEAP_SHRINK))
#define OF_PORTS (P(PORT_COMMAND) | P(PORT_CONTROL) | P(PORT_CONNECT) | P(DRIVER_OUTPUT) | P(DRIVER_OUTPUTV) | P(DRIVER_CONTROL))

/* A call is also what a return is to come of: who wants the return alone has the call offered, and nobody takes it. */
static struct event {
    const char *state, *tag;
    uint64_t probes;
    void (*fire)(const struct call *call);
    ERL_NIF_TERM state_atom, tag_atom;
} events[] = {
    {"function", "call", P(LOCAL_FUNCTION_ENTRY) | P(FUNCTION_RETURN), fire_function, 0, 0},
    {"function", "return_from", P(FUNCTION_RETURN), fire_function_return, 0, 0},
    {"vm", "send", P(MESSAGE_SEND) | P(MESSAGE_SEND_REMOTE), fire_send, 0, 0},
    {"vm", "receive", P(MESSAGE_QUEUED) | OF_PORTS, fire_receive, 0, 0},
    {"vm", "in", P(PROCESS_SCHEDULED), fire_in, 0, 0},
    {"vm", "out", P(PROCESS_UNSCHEDULED) | P(PROCESS_HIBERNATE), fire_out, 0, 0},
    {"vm", "spawned", P(PROCESS_SPAWN), fire_spawned, 0, 0},
    {"vm", "exit", P(PROCESS_EXIT), fire_exit, 0, 0},
    {"vm", "gc_minor_start", P(GC_MINOR_START) | GC_ENDS, fire_minor_start, 0, 0},
    {"vm", "gc_minor_end", P(GC_MINOR_END) | GC_ENDS, fire_minor_end, 0, 0},
    {"vm", "gc_major_start", P(GC_MAJOR_START) | GC_ENDS, fire_major_start, 0, 0},
    {"vm", "gc_major_end", P(GC_MAJOR_END) | GC_ENDS, fire_major_end, 0, 0},
    {"vm", "open", P(PORT_OPEN) | P(DRIVER_START) | P(PORT_EXIT) | P(DRIVER_STOP) | OF_PORTS, fire_open, 0, 0},
    {"vm", "closed", P(PORT_EXIT) | P(DRIVER_STOP), fire_closed, 0, 0},
    {"vm", "call", P(GLOBAL_FUNCTION_ENTRY), fire_global, 0, 0},
    {"bif", "call", P(BIF_ENTRY) | P(BIF_RETURN), fire_bif, 0, 0},
    {"bif", "return_from", P(BIF_RETURN), fire_bif_return, 0, 0},
    {"nif", "call", P(NIF_ENTRY) | P(NIF_RETURN), fire_nif, 0, 0},
    {"nif", "return_from", P(NIF_RETURN), fire_nif_return, 0, 0},
    {"exit", "call", P(PROCESS_EXIT_SIGNAL) | P(PROCESS_EXIT_SIGNAL_REMOTE), fire_exit_signal, 0, 0},
};

enum { EVENTS = sizeof events / sizeof events[0] };

bool pyusdt_vm_trace_load(ErlNifEnv *env)
{
    const struct {
        ERL_NIF_TERM *atom;
        const char *text;
    } atoms[] = {
        {&atom_ok, "ok"}, {&atom_trace, "trace"}, {&atom_discard, "discard"}, {&atom_remove, "remove"},
        {&atom_trace_status, "trace_status"}, {&atom_extra, "extra"}, {&atom_match_spec_result, "match_spec_result"},
        {&atom_wordsize, "wordsize"}, {&atom_heap_block_size, "heap_block_size"}, {&atom_command, "command"},
        {&atom_control, "control"}, {&atom_connect, "connect"}, {&atom_close, "close"}, {&atom_erlang, "erlang"},
        {&atom_hibernate, "hibernate"}, {&state_vm, "vm"},
    };

    for (unsigned i = 0; i < sizeof atoms / sizeof atoms[0]; i++)
        *atoms[i].atom = enif_make_atom(env, atoms[i].text);
    for (unsigned i = 0; i < EVENTS; i++) {
        events[i].state_atom = enif_make_atom(env, events[i].state);
        events[i].tag_atom = enif_make_atom(env, events[i].tag);
    }
    return true;
}

static const struct event *event_of(ERL_NIF_TERM state, ERL_NIF_TERM tag)
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

/* Flags of processes stay until they are taken away one by one, or by this answer. Patterns go by one call. */
static ERL_NIF_TERM status(ERL_NIF_TERM state)
{
    return state == state_vm && !atomic_load(&pyusdt_vm.processes) ? atom_remove : atom_trace;
}

static bool is_off(ERL_NIF_TERM tracee)
{
    ERL_NIF_TERM controller = atomic_load_explicit(&pyusdt_vm.controller, memory_order_relaxed);

    return controller == 0 || controller == tracee || atomic_load_explicit(&pyusdt_vm.over, memory_order_relaxed) != 0;
}

ERL_NIF_TERM pyusdt_nif_vm_enabled(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    const struct event *event;

    (void)env, (void)argc;
    if (argv[0] == atom_trace_status)
        return status(argv[1]);
    event = is_off(argv[2]) ? NULL : event_of(argv[1], argv[0]);
    return event && is_any_wanted(event->probes) ? atom_trace : atom_discard;
}

/* False: too many events came on this scheduler, and all are discarded until the controlling process has seen to it. */
static bool within_rate(void)
{
    static _Thread_local struct {
        ErlNifTime since;
        unsigned count;
    } burst;
    unsigned most = atomic_load_explicit(&pyusdt_vm.burst, memory_order_relaxed);
    ErlNifTime now, took;

    if (most == 0 || ++burst.count < most)
        return true;
    now = enif_monotonic_time(ERL_NIF_USEC);
    took = now - burst.since;
    burst.since = now;
    burst.count = 0;
    if (took >= BURST_US)
        return true;
    atomic_store(&pyusdt_vm.over, took > 0 ? (unsigned)took : 1);
    return false;
}

/* Who wanted it is told: the event has none of its arguments, so it is counted as lost. */
static void lose(uint64_t probes)
{
    const struct pyusdt_args none = {.missing = ~0u};

    for (; probes != 0; probes &= probes - 1) {
        unsigned probe = (unsigned)__builtin_ctzll(probes);
        if (pyusdt_wanted(pyusdt_vm.site[probe].index))
            pyusdt_fire(pyusdt_vm.site[probe].index, &none);
    }
}

ERL_NIF_TERM pyusdt_nif_vm_trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    const struct call call = {env, argv[2], argv[3], argv[4]};
    const struct event *event = event_of(argv[1], argv[0]);

    (void)argc;
    if (!event)
        return atom_ok;
    if (within_rate())
        event->fire(&call);
    else
        lose(event->probes);
    return atom_ok;
}
