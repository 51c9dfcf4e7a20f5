/* The Erlang stack of a firing process (see erlang_stack.h). */
#include "erlang_stack.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "atoms.h"
#include "target/sites.h"

#define NAME_SIZE 256 /* bytes of an atom that can be read, and of a file */

ERL_NIF_TERM pyusdt_nif_wants_stack(ErlNifEnv *env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned number = 0, probe = PYUSDT_USER_TRACE_I4S4;

    if (argc == 1) {
        if (!enif_get_uint(env, argv[0], &number) || number >= PYUSDT_NUMBERED)
            return pyusdt_atoms.no;
        probe = PYUSDT_USER_TRACE_N0 + number;
    }
    return pyusdt_wanted(probe) && pyusdt_demand(probe) & PYUSDT_DEMAND_STACK ? pyusdt_atoms.yes
                                                                              : pyusdt_atoms.no;
}

/* [{file, File}, {line, Line}] */
static void read_location(ErlNifEnv *env, ERL_NIF_TERM list, char file[NAME_SIZE], unsigned *line)
{
    ERL_NIF_TERM item;

    for (int i = 0; i < 4 && enif_get_list_cell(env, list, &item, &list); i++) {
        const ERL_NIF_TERM *pair;
        int arity;
        if (!enif_get_tuple(env, item, &arity, &pair) || arity != 2)
            continue;
        if (!enif_get_uint(env, pair[1], line))
            enif_get_string(env, pair[1], file, NAME_SIZE, ERL_NIF_LATIN1);
    }
}

/* For {Module, Function, Arity, Location}; false: another term. */
static bool read_frame(ErlNifEnv *env, ERL_NIF_TERM term, uint64_t *frame)
{
    char module[NAME_SIZE], function[NAME_SIZE], file[NAME_SIZE] = "", name[2 * NAME_SIZE + 16];
    const ERL_NIF_TERM *part;
    unsigned arity = 0, line = 0;
    int n;

    if (!enif_get_tuple(env, term, &n, &part) || n != 4 ||
        enif_get_atom(env, part[0], module, NAME_SIZE, ERL_NIF_LATIN1) == 0 ||
        enif_get_atom(env, part[1], function, NAME_SIZE, ERL_NIF_LATIN1) == 0 ||
        !enif_get_uint(env, part[2], &arity))
        return false;
    read_location(env, part[3], file, &line);
    snprintf(name, sizeof name, "%s:%s/%u", module, function, arity);
    *frame = pyusdt_frame(pyusdt_place("", name, file, 0), line);
    return true;
}

ERL_NIF_TERM pyusdt_nif_read_stack(ErlNifEnv *env, ERL_NIF_TERM given, struct pyusdt_firing *firing,
                                   uint64_t *frames)
{
    const ERL_NIF_TERM *pair;
    ERL_NIF_TERM list, item;
    uint32_t n = 0;
    int arity;

    if (!enif_get_tuple(env, given, &arity, &pair) || arity != 2)
        return given;
    list = pair[1];
    while (n < PYUSDT_MAX_FRAMES && enif_get_list_cell(env, list, &item, &list) &&
           read_frame(env, item, &frames[n]))
        n++;
    firing->args.frame = frames;
    firing->args.nframes = n;
    return pair[0];
}
