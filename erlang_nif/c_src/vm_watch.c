/* Calls of one function as messages (see vm_watch.h). */
#include "vm_watch.h"

#include <string.h>

#include "atoms.h"
#include "term_encode.h"

/* A call that has not returned. A process has one: the innermost. */
struct open_call {
    ERL_NIF_TERM process;
    ErlNifTime since;
    ERL_NIF_TERM caller[3]; /* module, function, arity: immediate terms; 0: unknown */
    struct pyusdt_term arguments;
};

static struct pyusdt_vm_cache open_calls = PYUSDT_VM_CACHE("pyusdt_vm_watch", struct open_call);

static _Atomic ERL_NIF_TERM receiver; /* 0: nothing is watched */
static atomic_int messages_left, calls_left;
static atomic_int calls_given;
static _Atomic ErlNifTime slower; /* nanoseconds */

bool pyusdt_vm_watch_load(void)
{
    return pyusdt_vm_cache_load(&open_calls);
}

/* One of them, if there is one left. */
static bool take_one(atomic_int *left)
{
    int before = atomic_load(left);

    while (before > 0)
        if (atomic_compare_exchange_weak(left, &before, before - 1))
            return true;
    return false;
}

ERL_NIF_TERM pyusdt_vm_watch_enabled(const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM to = atomic_load_explicit(&receiver, memory_order_relaxed);

    if (to == 0 || argv[2] == to || atomic_load(&messages_left) <= 0)
        return pyusdt_atoms.discard;
    if (argv[0] == pyusdt_atoms.call && !take_one(&calls_left))
        return pyusdt_atoms.discard;
    return pyusdt_atoms.trace;
}

/* {caller}: {Module, Function, Arity}, or undefined. */
static void read_caller(const struct pyusdt_vm_call *call, struct open_call *now)
{
    const ERL_NIF_TERM *parts;
    ERL_NIF_TERM caller;
    int n;

    if (pyusdt_vm_find_option(call, pyusdt_atoms.match_spec_result, &caller) &&
        enif_get_tuple(call->env, caller, &n, &parts) && n == 3)
        memcpy(now->caller, parts, sizeof now->caller);
}

static void open_call(const struct pyusdt_vm_call *call)
{
    struct open_call now = {.process = call->tracee};
    const ERL_NIF_TERM *mfa;
    int n;

    if (enif_get_tuple(call->env, call->term, &n, &mfa) && n == 3)
        pyusdt_term_encode_redacted(call->env, &now.arguments, mfa[2]);
    read_caller(call, &now);
    now.since = enif_monotonic_time(ERL_NIF_NSEC);
    pyusdt_vm_cache_put(&open_calls, &now);
}

static ERL_NIF_TERM make_bytes(ErlNifEnv *env, const struct pyusdt_term *term)
{
    ERL_NIF_TERM binary;
    unsigned char *bytes = enif_make_new_binary(env, term->length, &binary);

    if (!bytes)
        return pyusdt_atoms.undefined;
    memcpy(bytes, term->bytes, term->length);
    return binary;
}

static ERL_NIF_TERM make_caller(ErlNifEnv *env, const struct open_call *then)
{
    return then->caller[0] == 0 ? pyusdt_atoms.undefined
                                : enif_make_tuple_from_array(env, then->caller, 3);
}

/* {watched, Pid, Arguments, return | Class, Value, Nanoseconds, Caller} */
static void send_call(const struct pyusdt_vm_call *call, const struct open_call *then,
                      ErlNifTime took)
{
    ErlNifPid to = {atomic_load(&receiver)};
    ErlNifEnv *env = enif_alloc_env();
    ERL_NIF_TERM class = pyusdt_atoms.yes, value = pyusdt_atoms.undefined;
    const ERL_NIF_TERM *pair;
    struct pyusdt_term encoded;
    int n;

    if (!env)
        return;
    pyusdt_vm_find_option(call, pyusdt_atoms.extra, &value);
    if (call->is_exception && enif_get_tuple(call->env, value, &n, &pair) && n == 2) {
        class = pair[0];
        value = pair[1];
    }
    pyusdt_term_encode_redacted(call->env, &encoded, value);
    enif_send(call->env, &to, env,
              enif_make_tuple7(env, pyusdt_atoms.watch, call->tracee,
                               make_bytes(env, &then->arguments), class, make_bytes(env, &encoded),
                               enif_make_int64(env, took), make_caller(env, then)));
    enif_free_env(env);
}

static void close_call(const struct pyusdt_vm_call *call)
{
    ErlNifTime took, now = enif_monotonic_time(ERL_NIF_NSEC);
    struct open_call then;

    if (!pyusdt_vm_cache_remove(&open_calls, call->tracee, &then))
        return; /* of an outer call, or another process's took its place */
    took = now - then.since;
    if (took >= atomic_load(&slower) && take_one(&messages_left))
        send_call(call, &then, took);
}

void pyusdt_vm_watch_trace(const struct pyusdt_vm_call *call, ERL_NIF_TERM tag)
{
    if (tag == pyusdt_atoms.call)
        open_call(call);
    else
        close_call(call);
}

ERL_NIF_TERM pyusdt_nif_vm_watch_begin(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned messages, calls;
    ErlNifUInt64 microseconds;
    ErlNifPid pid;

    (void)argc;
    if (!enif_get_local_pid(env, argv[0], &pid) || !enif_get_uint(env, argv[1], &messages) ||
        !enif_get_uint(env, argv[2], &calls) || !enif_get_uint64(env, argv[3], &microseconds))
        return enif_make_badarg(env);
    atomic_store(&slower, (ErlNifTime)microseconds * 1000);
    atomic_store(&calls_given, (int)calls);
    atomic_store(&calls_left, (int)calls);
    atomic_store(&messages_left, (int)messages);
    atomic_store(&receiver, pid.pid);
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_watch_end(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc, (void)argv;
    atomic_store(&receiver, 0);
    return pyusdt_atoms.ok;
}

ERL_NIF_TERM pyusdt_nif_vm_watch_seen(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc, (void)argv;
    return enif_make_int(env, atomic_load(&calls_given) - atomic_load(&calls_left));
}
