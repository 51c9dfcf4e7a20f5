/*
 * Events of calls of ets, prim_inet, prim_socket, gen_server, supervisor and the loader (see
 * vm_calls.h).
 */
#include "vm_calls.h"

#include <string.h>

#include "atoms.h"
#include "vm_truncate_term.h"

#define P(probe) (UINT64_C(1) << PYUSDT_VM_##probe)
#define HANDLES (P(GEN_SERVER_HANDLE_ENTRY) | P(GEN_SERVER_HANDLE_RETURN))

const ERL_NIF_TERM *pyusdt_vm_read_arguments(const struct pyusdt_vm_call *call,
                                             ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS])
{
    const ERL_NIF_TERM *mfa;
    ERL_NIF_TERM list;
    int n;

    memset(arguments, 0, PYUSDT_VM_ARGUMENTS * sizeof *arguments);
    if (!enif_get_tuple(call->env, call->term, &n, &mfa) || n != 3)
        return NULL;
    list = mfa[2];
    for (n = 0;
         n < PYUSDT_VM_ARGUMENTS && enif_get_list_cell(call->env, list, &arguments[n], &list); n++)
        ;
    return mfa;
}

void pyusdt_vm_write_term(ErlNifEnv *env, ERL_NIF_TERM term, char *text, size_t size)
{
    if (term == 0 || enif_snprintf(text, size, "%T", pyusdt_vm_truncate_term(env, term)) < 0)
        text[0] = '\0';
}

/* ---- the values of each kind ---- */

/* A name, or a reference. */
static void read_table(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *now)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];

    if (pyusdt_vm_read_arguments(call, arguments) && arguments[0] != 0 &&
        (enif_is_atom(call->env, arguments[0]) || enif_is_ref(call->env, arguments[0])))
        pyusdt_vm_write_term(call->env, arguments[0], now->subject, sizeof now->subject);
}

static void read_server(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *now)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];

    if (pyusdt_vm_read_arguments(call, arguments))
        pyusdt_vm_write_term(call->env, arguments[0], now->subject, sizeof now->subject);
}

static struct pyusdt_vm_cache callers =
    PYUSDT_VM_CACHE("pyusdt_vm_callers", struct pyusdt_vm_open_call);

/* From: {Pid, Tag}. How long ago a process of this node called, since it waits for one answer at
 * a time. */
static void read_caller(const struct pyusdt_vm_call *call, ERL_NIF_TERM from,
                        struct pyusdt_vm_open_call *now)
{
    struct pyusdt_vm_open_call then;
    const ERL_NIF_TERM *parts;
    int n;

    if (!enif_get_tuple(call->env, from, &n, &parts) || n != 2)
        return;
    pyusdt_vm_write_term(call->env, parts[0], now->peer, sizeof now->peer);
    if (pyusdt_vm_cache_find(&callers, parts[0], &then))
        now->number = enif_monotonic_time(ERL_NIF_NSEC) - then.since;
}

/* The first argument: the module; from OTP 27 on {callback_cache, Module, …}; in newer ones
 * {server_data, Parent, Tag, Name, Module, …}, with From as the last of four arguments instead of
 * the third. */
static ERL_NIF_TERM find_module(ErlNifEnv *env, ERL_NIF_TERM first, unsigned *from)
{
    const ERL_NIF_TERM *parts;
    int n;

    *from = 2;
    if (!enif_get_tuple(env, first, &n, &parts) || n < 5)
        return first; /* the module */
    if (enif_is_atom(env, parts[1]))
        return parts[1];
    *from = 3;
    return parts[4];
}

/* try_handle_call(Module, Message, From, State), try_handle_cast(Module, …) …; before OTP 27 also
 * try_dispatch(Module, handle_cast, Message, State). */
static void read_try(const struct pyusdt_vm_call *call, const ERL_NIF_TERM *mfa,
                     const ERL_NIF_TERM *arguments, struct pyusdt_vm_open_call *now)
{
    static const char prefix[] = "try_";
    char name[PYUSDT_VM_NAME];
    unsigned from;

    pyusdt_vm_write_name(mfa[1] == pyusdt_atoms.try_dispatch ? arguments[1] : mfa[1], name);
    enif_snprintf(now->function, sizeof now->function, "%s",
                  strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name);
    pyusdt_vm_write_name(find_module(call->env, arguments[0], &from), now->subject);
    if (mfa[1] == pyusdt_atoms.try_handle_call)
        read_caller(call, arguments[from], now);
}

/* RabbitMQ's gen_server2: handle_msg(Message, {gs2_state, Parent, Name, State, Module, …}) */
static void read_message(const struct pyusdt_vm_call *call, const ERL_NIF_TERM *arguments,
                         struct pyusdt_vm_open_call *now)
{
    const ERL_NIF_TERM *parts;
    const char *function = "handle_info";
    unsigned from;
    int n;

    if (enif_get_tuple(call->env, arguments[0], &n, &parts)) {
        if (n == 3 && parts[0] == pyusdt_atoms.gen_call) {
            function = "handle_call";
            read_caller(call, parts[1], now);
        } else if (n == 2 && parts[0] == pyusdt_atoms.gen_cast) {
            function = "handle_cast";
        }
    }
    enif_snprintf(now->function, sizeof now->function, "%s", function);
    pyusdt_vm_write_name(find_module(call->env, arguments[1], &from), now->subject);
}

static void read_handle(const struct pyusdt_vm_call *call, struct pyusdt_vm_open_call *now)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];
    const ERL_NIF_TERM *mfa = pyusdt_vm_read_arguments(call, arguments);

    if (!mfa)
        return;
    if (mfa[1] == pyusdt_atoms.handle_msg)
        read_message(call, arguments, now);
    else
        read_try(call, mfa, arguments, now);
}

/* ---- the kinds ---- */

static struct pyusdt_vm_cache in_ets =
    PYUSDT_VM_CACHE("pyusdt_vm_in_ets", struct pyusdt_vm_open_call);
static struct pyusdt_vm_cache in_inet =
    PYUSDT_VM_CACHE("pyusdt_vm_in_inet", struct pyusdt_vm_open_call);
static struct pyusdt_vm_cache in_handle =
    PYUSDT_VM_CACHE("pyusdt_vm_in_handle", struct pyusdt_vm_open_call);

const struct pyusdt_vm_kind
    pyusdt_vm_ets = {PYUSDT_VM_ETS_ENTRY,
                     PYUSDT_VM_ETS_RETURN,
                     P(ETS_RETURN),
                     false,
                     read_table,
                     NULL,
                     &in_ets},
    pyusdt_vm_inet = {PYUSDT_VM_INET_ENTRY, PYUSDT_VM_INET_RETURN, P(INET_RETURN), true,
                      pyusdt_vm_inet_read,  pyusdt_vm_inet_end,    &in_inet},
    pyusdt_vm_server_call = {PYUSDT_VM_GEN_SERVER_CALL_ENTRY,
                             PYUSDT_VM_GEN_SERVER_CALL_RETURN,
                             P(GEN_SERVER_CALL_RETURN) | HANDLES,
                             false,
                             read_server,
                             NULL,
                             &callers},
    pyusdt_vm_server_cast = {PYUSDT_VM_GEN_SERVER_CAST, 0, 0, false, read_server, NULL, NULL},
    pyusdt_vm_handle = {PYUSDT_VM_GEN_SERVER_HANDLE_ENTRY,
                        PYUSDT_VM_GEN_SERVER_HANDLE_RETURN,
                        P(GEN_SERVER_HANDLE_RETURN),
                        true,
                        read_handle,
                        NULL,
                        &in_handle};

bool pyusdt_vm_calls_load(ErlNifEnv *env)
{
    return pyusdt_vm_inet_load(env) && pyusdt_vm_cache_load(&in_ets) &&
           pyusdt_vm_cache_load(&in_inet) && pyusdt_vm_cache_load(&callers) &&
           pyusdt_vm_cache_load(&in_handle);
}

/* ---- their probes ---- */

static void put_call(struct pyusdt_vm_event *event, const struct pyusdt_vm_call *call,
                     const struct pyusdt_vm_open_call *now)
{
    pyusdt_vm_put_local(event, 0, call->tracee);
    if (now->function[0])
        pyusdt_vm_put_text(event, 1, now->function);
    else
        pyusdt_vm_put_mfa(event, 1, call->term);
    pyusdt_vm_put_text(event, 2, now->subject);
    if (!call->kind->has_peer)
        return;
    pyusdt_vm_put_text(event, 3, now->peer);
    pyusdt_vm_put_integer(event, 4, now->number);
}

static bool is_return_wanted(const struct pyusdt_vm_kind *kind)
{
    for (uint64_t probes = kind->cached_for; probes != 0; probes &= probes - 1)
        if (pyusdt_vm_is_wanted((unsigned)__builtin_ctzll(probes)))
            return true;
    return false;
}

void pyusdt_vm_call_entry(const struct pyusdt_vm_call *call)
{
    const struct pyusdt_vm_kind *kind = call->kind;
    struct pyusdt_vm_open_call now = {.process = call->tracee};
    struct pyusdt_vm_event event;

    kind->read(call, &now);
    if (pyusdt_vm_event_begin(&event, call->env, kind->entry)) {
        put_call(&event, call, &now);
        pyusdt_vm_event_offer(&event, kind->entry);
    }
    if (!is_return_wanted(kind))
        return;
    now.since = enif_monotonic_time(ERL_NIF_NSEC);
    pyusdt_vm_cache_put(kind->open_calls, &now);
}

void pyusdt_vm_call_return(const struct pyusdt_vm_call *call)
{
    ErlNifTime end = enif_monotonic_time(ERL_NIF_NSEC);
    const struct pyusdt_vm_kind *kind = call->kind;
    struct pyusdt_vm_open_call then = {.process = call->tracee};
    bool found = pyusdt_vm_cache_remove(kind->open_calls, call->tracee, &then);
    const char *error = found && kind->end ? kind->end(call, &then) : "";
    unsigned took = kind->has_peer ? 5 : 3;
    struct pyusdt_vm_event event;

    if (!pyusdt_vm_event_begin(&event, call->env, kind->after))
        return;
    put_call(&event, call, &then);
    if (found)
        pyusdt_vm_put_integer(&event, took, end - then.since);
    if (kind->end)
        pyusdt_vm_put_text(&event, took + 1, error);
    pyusdt_vm_event_offer(&event, kind->after);
}

/* ---- probes of one call ---- */

/* restart({child, Pid, Id, {Module, Function, Arguments}, …}, {state, Name, …}) */
void pyusdt_vm_restart(const struct pyusdt_vm_call *call)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];
    const ERL_NIF_TERM *child, *state;
    struct pyusdt_vm_event event;
    int n, m;

    if (!pyusdt_vm_read_arguments(call, arguments) ||
        !enif_get_tuple(call->env, arguments[0], &n, &child) || n < 4 ||
        !enif_get_tuple(call->env, arguments[1], &m, &state) || m < 2 ||
        !pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_SUPERVISOR_RESTART))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_put(&event, 1, state[1]);
    pyusdt_vm_put(&event, 2, child[2]);
    pyusdt_vm_put_mfa(&event, 3, child[3]);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_SUPERVISOR_RESTART);
}

/* prepare_loading(Module, Code) */
void pyusdt_vm_load_code(const struct pyusdt_vm_call *call)
{
    ERL_NIF_TERM arguments[PYUSDT_VM_ARGUMENTS];
    struct pyusdt_vm_event event;
    char module[PYUSDT_VM_NAME];

    if (!pyusdt_vm_read_arguments(call, arguments) || !enif_is_atom(call->env, arguments[0]) ||
        arguments[1] == 0 || !pyusdt_vm_event_begin(&event, call->env, PYUSDT_VM_CODE_LOAD))
        return;
    pyusdt_vm_put_local(&event, 0, call->tracee);
    pyusdt_vm_write_name(arguments[0], module);
    pyusdt_vm_put_text(&event, 1, module);
    pyusdt_vm_put_bytes(&event, 2, arguments[1]);
    pyusdt_vm_event_offer(&event, PYUSDT_VM_CODE_LOAD);
}
