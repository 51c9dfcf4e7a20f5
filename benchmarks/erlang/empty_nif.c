/* The peer of a probe that is off: a NIF of arity 3 that does nothing. */
#include <erl_nif.h>

static ERL_NIF_TERM atom_false;

static ERL_NIF_TERM call(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    (void)env, (void)argc, (void)argv;
    return atom_false;
}

static int load(ErlNifEnv *env, void **priv_data, ERL_NIF_TERM load_info)
{
    (void)priv_data, (void)load_info;
    atom_false = enif_make_atom(env, "false");
    return 0;
}

static ErlNifFunc functions[] = {{"call", 3, call, 0}};

ERL_NIF_INIT(empty_nif, functions, load, NULL, NULL, NULL)
