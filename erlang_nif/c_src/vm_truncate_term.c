/* Truncates a term to the part that its text can show (see vm_truncate_term.h). */
#include "vm_truncate_term.h"

#include <stdbool.h>

#include "atoms.h"
#include "pyusdt.h"

enum { PARTS = 1000, DEPTH = 32, MOST = 512 }; /* in all; nested; of one list, tuple or map */

struct truncation {
    ErlNifEnv *env;
    unsigned parts, depth; /* that are left */
};

static ERL_NIF_TERM truncate(struct truncation *c, ERL_NIF_TERM term);

static bool is_over(const struct truncation *c, unsigned n)
{
    return c->parts == 0 || n == MOST;
}

static ERL_NIF_TERM truncate_list(struct truncation *c, ERL_NIF_TERM list)
{
    ERL_NIF_TERM result[MOST], head;
    unsigned n = 0;

    while (!is_over(c, n) && enif_get_list_cell(c->env, list, &head, &list))
        result[n++] = truncate(c, head);
    if (!enif_is_empty_list(c->env, list))
        list = enif_is_list(c->env, list) ? pyusdt_atoms.truncated : truncate(c, list);
    while (n > 0)
        list = enif_make_list_cell(c->env, result[--n], list);
    return list;
}

static ERL_NIF_TERM truncate_tuple(struct truncation *c, ERL_NIF_TERM tuple)
{
    const ERL_NIF_TERM *parts;
    ERL_NIF_TERM result[MOST + 1];
    unsigned n = 0;
    int size;

    enif_get_tuple(c->env, tuple, &size, &parts);
    for (; n < (unsigned)size && !is_over(c, n); n++)
        result[n] = truncate(c, parts[n]);
    if (n < (unsigned)size)
        result[n++] = pyusdt_atoms.truncated;
    return enif_make_tuple_from_array(c->env, result, n);
}

static ERL_NIF_TERM truncate_map(struct truncation *c, ERL_NIF_TERM map)
{
    ERL_NIF_TERM key, value, result = enif_make_new_map(c->env);
    ErlNifMapIterator iterator;
    unsigned n = 0;

    if (!enif_map_iterator_create(c->env, map, &iterator, ERL_NIF_MAP_ITERATOR_FIRST))
        return pyusdt_atoms.truncated;
    for (; !is_over(c, n) && enif_map_iterator_get_pair(c->env, &iterator, &key, &value); n++) {
        enif_make_map_put(c->env, result, truncate(c, key), truncate(c, value), &result);
        enif_map_iterator_next(c->env, &iterator);
    }
    if (enif_map_iterator_get_pair(c->env, &iterator, &key, &value))
        enif_make_map_put(c->env, result, pyusdt_atoms.truncated, pyusdt_atoms.truncated, &result);
    enif_map_iterator_destroy(c->env, &iterator);
    return result;
}

static ERL_NIF_TERM truncate_binary(struct truncation *c, ERL_NIF_TERM term)
{
    ErlNifBinary binary;

    if (!enif_is_binary(c->env, term) || !enif_inspect_binary(c->env, term, &binary))
        return pyusdt_atoms.truncated; /* bits */
    return binary.size <= PYUSDT_MAX_STRING
               ? term
               : enif_make_sub_binary(c->env, term, 0, PYUSDT_MAX_STRING);
}

static ERL_NIF_TERM truncate_integer(struct truncation *c, ERL_NIF_TERM term)
{
    ErlNifSInt64 value;
    ErlNifUInt64 large;

    return enif_get_int64(c->env, term, &value) || enif_get_uint64(c->env, term, &large)
               ? term
               : pyusdt_atoms.truncated;
}

static ERL_NIF_TERM truncate_inner(struct truncation *c, ERL_NIF_TERM term)
{
    switch (enif_term_type(c->env, term)) {
    case ERL_NIF_TERM_TYPE_LIST:
        return truncate_list(c, term);
    case ERL_NIF_TERM_TYPE_TUPLE:
        return truncate_tuple(c, term);
    case ERL_NIF_TERM_TYPE_MAP:
        return truncate_map(c, term);
    case ERL_NIF_TERM_TYPE_BITSTRING:
        return truncate_binary(c, term);
    case ERL_NIF_TERM_TYPE_INTEGER:
        return truncate_integer(c, term);
    default:
        return term; /* small, or shown only by its name */
    }
}

static ERL_NIF_TERM truncate(struct truncation *c, ERL_NIF_TERM term)
{
    ERL_NIF_TERM result;

    if (c->parts == 0 || c->depth == 0)
        return pyusdt_atoms.truncated;
    c->parts--;
    c->depth--;
    result = truncate_inner(c, term);
    c->depth++;
    return result;
}

ERL_NIF_TERM pyusdt_vm_truncate_term(ErlNifEnv *env, ERL_NIF_TERM term)
{
    struct truncation c = {env, PARTS, DEPTH};

    return enif_is_atom(env, term) ? term : truncate(&c, term);
}
