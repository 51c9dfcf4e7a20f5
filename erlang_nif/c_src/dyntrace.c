/*
 * The erl_tracer callbacks of the module dyntrace, which the emulator accepts from NIFs only.
 *
 * - No tracer is behind them. Every enabled question is answered with discard, so that a trace that
 *   names this module is accepted, as with OTP's own module, and costs one call an event.
 */
#include <erl_nif.h>

static ERL_NIF_TERM nif_discard(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc, (void)argv;
    return enif_make_atom(env, "discard");
}

/* Called for events that enabled() did not discard: it does nothing. */
static ERL_NIF_TERM nif_trace(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)argc, (void)argv;
    return enif_make_atom(env, "ok");
}

static ErlNifFunc functions[] = {
    {"enabled", 3, nif_discard, 0},
    {"enabled_call", 3, nif_discard, 0},
    {"enabled_garbage_collection", 3, nif_discard, 0},
    {"enabled_ports", 3, nif_discard, 0},
    {"enabled_procs", 3, nif_discard, 0},
    {"enabled_receive", 3, nif_discard, 0},
    {"enabled_running_ports", 3, nif_discard, 0},
    {"enabled_running_procs", 3, nif_discard, 0},
    {"enabled_send", 3, nif_discard, 0},
    {"trace", 5, nif_trace, 0},
    {"trace_call", 5, nif_trace, 0},
    {"trace_garbage_collection", 5, nif_trace, 0},
    {"trace_ports", 5, nif_trace, 0},
    {"trace_procs", 5, nif_trace, 0},
    {"trace_receive", 5, nif_trace, 0},
    {"trace_running_ports", 5, nif_trace, 0},
    {"trace_running_procs", 5, nif_trace, 0},
    {"trace_send", 5, nif_trace, 0},
};

static int load(ErlNifEnv *env, void **priv_data, ERL_NIF_TERM load_info)
{
    (void)env, (void)priv_data, (void)load_info;
    return 0;
}

/* Replaces code that has NIFs already: this library's, or OTP's own, whose private data stays. */
static int upgrade(ErlNifEnv *env, void **priv_data, void **old_priv_data, ERL_NIF_TERM load_info)
{
    (void)env, (void)priv_data, (void)old_priv_data, (void)load_info;
    return 0;
}

ERL_NIF_INIT(dyntrace, functions, load, NULL, upgrade, NULL)
