/* Terms of any size, cut to what a text shows of them: see vm_truncate_term.h. */
#include "vm_truncate_term.h"

#include <stdbool.h>

#include "atoms.h"
#include "pyusdt.h"

enum { PARTS = 1000, DEPTH = 32, MOST = 512 }; /* in all; open at once; of one list, tuple or map */

struct cutter {
    ErlNifEnv *env;
    unsigned parts, depth; /* that are left */
};

static ERL_NIF_TERM cut(struct cutter *c, ERL_NIF_TERM term);

static bool is_over(const struct cutter *c, unsigned n)
{
    return c->parts == 0 || n == MOST;
}

static ERL_NIF_TERM cut_list(struct cutter *c, ERL_NIF_TERM list)
{
    ERL_NIF_TERM kept[MOST], head;
    unsigned n = 0;

    while (!is_over(c, n) && enif_get_list_cell(c->env, list, &head, &list))
        kept[n++] = cut(c, head);
    if (!enif_is_empty_list(c->env, list))
        list = enif_is_list(c->env, list) ? pyusdt_atoms.cut : cut(c, list);
    while (n > 0)
        list = enif_make_list_cell(c->env, kept[--n], list);
    return list;
}

static ERL_NIF_TERM cut_tuple(struct cutter *c, ERL_NIF_TERM tuple)
{
    const ERL_NIF_TERM *parts;
    ERL_NIF_TERM kept[MOST + 1];
    unsigned n = 0;
    int size;

    enif_get_tuple(c->env, tuple, &size, &parts);
    for (; n < (unsigned)size && !is_over(c, n); n++)
        kept[n] = cut(c, parts[n]);
    if (n < (unsigned)size)
        kept[n++] = pyusdt_atoms.cut;
    return enif_make_tuple_from_array(c->env, kept, n);
}

static ERL_NIF_TERM cut_map(struct cutter *c, ERL_NIF_TERM map)
{
    ERL_NIF_TERM key, value, kept = enif_make_new_map(c->env);
    ErlNifMapIterator iterator;
    unsigned n = 0;

    if (!enif_map_iterator_create(c->env, map, &iterator, ERL_NIF_MAP_ITERATOR_FIRST))
        return pyusdt_atoms.cut;
    for (; !is_over(c, n) && enif_map_iterator_get_pair(c->env, &iterator, &key, &value); n++) {
        enif_make_map_put(c->env, kept, cut(c, key), cut(c, value), &kept);
        enif_map_iterator_next(c->env, &iterator);
    }
    if (enif_map_iterator_get_pair(c->env, &iterator, &key, &value))
        enif_make_map_put(c->env, kept, pyusdt_atoms.cut, pyusdt_atoms.cut, &kept);
    enif_map_iterator_destroy(c->env, &iterator);
    return kept;
}

static ERL_NIF_TERM cut_binary(struct cutter *c, ERL_NIF_TERM term)
{
    ErlNifBinary binary;

    if (!enif_is_binary(c->env, term) || !enif_inspect_binary(c->env, term, &binary))
        return pyusdt_atoms.cut; /* bits */
    return binary.size <= PYUSDT_MAX_STRING
               ? term
               : enif_make_sub_binary(c->env, term, 0, PYUSDT_MAX_STRING);
}

static ERL_NIF_TERM cut_integer(struct cutter *c, ERL_NIF_TERM term)
{
    ErlNifSInt64 value;
    ErlNifUInt64 large;

    return enif_get_int64(c->env, term, &value) || enif_get_uint64(c->env, term, &large)
               ? term
               : pyusdt_atoms.cut;
}

static ERL_NIF_TERM cut_inside(struct cutter *c, ERL_NIF_TERM term)
{
    switch (enif_term_type(c->env, term)) {
    case ERL_NIF_TERM_TYPE_LIST:
        return cut_list(c, term);
    case ERL_NIF_TERM_TYPE_TUPLE:
        return cut_tuple(c, term);
    case ERL_NIF_TERM_TYPE_MAP:
        return cut_map(c, term);
    case ERL_NIF_TERM_TYPE_BITSTRING:
        return cut_binary(c, term);
    case ERL_NIF_TERM_TYPE_INTEGER:
        return cut_integer(c, term);
    default:
        return term; /* small, or shown by its name alone */
    }
}

static ERL_NIF_TERM cut(struct cutter *c, ERL_NIF_TERM term)
{
    ERL_NIF_TERM kept;

    if (c->parts == 0 || c->depth == 0)
        return pyusdt_atoms.cut;
    c->parts--;
    c->depth--;
    kept = cut_inside(c, term);
    c->depth++;
    return kept;
}

ERL_NIF_TERM pyusdt_vm_cut(ErlNifEnv *env, ERL_NIF_TERM term)
{
    struct cutter c = {env, PARTS, DEPTH};

    return enif_is_atom(env, term) ? term : cut(&c, term);
}
