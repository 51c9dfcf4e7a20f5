/* Encodes Erlang terms as term arguments (see term_encode.h). */
#include "term_encode.h"

#include <stdbool.h>
#include <string.h>

#include "atoms.h"
#include "secret_names.h"
#include "shared/term_format.h"

#define TEXT_MAX 63

struct builder {
    ErlNifEnv *env;
    struct pyusdt_term *to;
    unsigned steps; /* that are left */
    bool full;      /* nothing more is written: the rest is truncated */
    bool redacts;   /* values of secret keys */
};

static void add_term(struct builder *b, ERL_NIF_TERM term, unsigned depth);

/* All or nothing. */
static bool put_bytes(struct builder *b, const void *bytes, size_t size)
{
    if (b->full || size > PYUSDT_MAX_STRING - b->to->length) {
        b->full = true;
        return false;
    }
    memcpy(b->to->bytes + b->to->length, bytes, size);
    b->to->length += (uint32_t)size;
    return true;
}

static void put_truncated(struct builder *b)
{
    put_bytes(b, &(uint8_t){TERM_CUT}, 1);
}

/* A tag and a number of `size` bytes behind it. */
static bool put_tag(struct builder *b, uint8_t tag, uint32_t number, unsigned size)
{
    uint8_t bytes[5] = {tag};

    for (unsigned i = 0; i < size; i++)
        bytes[1 + i] = (uint8_t)(number >> (8 * (size - 1 - i)));
    return put_bytes(b, bytes, 1 + size);
}

/* As many of them as there is room for. */
static void put_prefix(struct builder *b, const uint8_t *bytes, size_t size)
{
    size_t room = PYUSDT_MAX_STRING - b->to->length;

    if (put_bytes(b, bytes, size < room ? size : room) && size > room)
        b->full = true;
}

/* ---- numbers, atoms, binaries ---- */

static void add_big(struct builder *b, uint64_t magnitude, bool negative)
{
    uint8_t bytes[11] = {TERM_BIG, 8, negative};

    for (unsigned i = 0; i < 8; i++)
        bytes[3 + i] = (uint8_t)(magnitude >> (8 * i));
    put_bytes(b, bytes, sizeof bytes);
}

static void add_integer(struct builder *b, ERL_NIF_TERM term)
{
    ErlNifSInt64 value;
    ErlNifUInt64 large;

    if (enif_get_int64(b->env, term, &value)) {
        if (value >= 0 && value <= UINT8_MAX)
            put_tag(b, TERM_U8, (uint32_t)value, 1);
        else if (value >= INT32_MIN && value <= INT32_MAX)
            put_tag(b, TERM_I32, (uint32_t)value, 4);
        else
            add_big(b, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
    } else if (enif_get_uint64(b->env, term, &large)) {
        add_big(b, large, false);
    } else {
        put_truncated(b);
    }
}

static void add_float(struct builder *b, ERL_NIF_TERM term)
{
    uint8_t bytes[9] = {TERM_FLOAT};
    double value;
    uint64_t bits;

    enif_get_double(b->env, term, &value);
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        bytes[1 + i] = (uint8_t)(bits >> (56 - 8 * i));
    put_bytes(b, bytes, sizeof bytes);
}

/* The emulator's own format, for small terms: atoms, pids, ports, references. */
static void add_external(struct builder *b, ERL_NIF_TERM term)
{
    ErlNifBinary external;

    if (!enif_term_to_binary(b->env, term, &external)) {
        put_truncated(b);
        return;
    }
    put_bytes(b, external.data + 1, external.size - 1); /* without the version */
    enif_release_binary(&external);
}

static void add_atom(struct builder *b, ERL_NIF_TERM term)
{
    char name[256];
    int size = enif_get_atom(b->env, term, name, sizeof name, ERL_NIF_LATIN1);

    for (int i = 0; i < size; i++)
        if (name[i] & 0x80)
            size = 0;
    if (size == 0)
        add_external(b, term);
    else if (put_tag(b, TERM_SMALL_ATOM, (uint32_t)size - 1, 1) &&
             !put_bytes(b, name, (size_t)size - 1))
        b->to->length -= 2; /* the whole of it, or nothing */
}

static void add_binary(struct builder *b, ERL_NIF_TERM term)
{
    ErlNifBinary binary;

    if (!enif_is_binary(b->env, term) || !enif_inspect_binary(b->env, term, &binary))
        put_truncated(b); /* bits */
    else if (put_tag(b, TERM_BINARY, binary.size < UINT32_MAX ? (uint32_t)binary.size : UINT32_MAX,
                     4))
        put_prefix(b, binary.data, binary.size);
}

static void add_as_text(struct builder *b, ERL_NIF_TERM term)
{
    char text[TEXT_MAX + 1];
    int size = enif_snprintf(text, sizeof text, "%T", term);

    size = size < 0 ? 0 : size > TEXT_MAX ? TEXT_MAX : size;
    if (put_tag(b, TERM_SHOWN, (uint32_t)size, 1) && !put_bytes(b, text, (size_t)size))
        b->to->length -= 2;
}

static void add_redacted(struct builder *b)
{
    static const char text[] = "<redacted>";

    if (put_tag(b, TERM_SHOWN, sizeof text - 1, 1) && !put_bytes(b, text, sizeof text - 1))
        b->to->length -= 2;
}

/* ---- compounds ---- */

static void add_value(struct builder *b, ERL_NIF_TERM key, ERL_NIF_TERM value, unsigned depth)
{
    if (b->redacts && pyusdt_is_secret_key(b->env, key))
        add_redacted(b);
    else
        add_term(b, value, depth);
}

/* The cells of a list, up to more than there can be room for; *bytes: all of them are bytes,
 * *proper: it ends with []. */
static uint32_t measure_list(struct builder *b, ERL_NIF_TERM list, bool *bytes, bool *proper)
{
    ERL_NIF_TERM head;
    uint32_t n = 0;
    unsigned number;

    *bytes = true;
    for (; n <= PYUSDT_MAX_STRING && b->steps > 0 && enif_get_list_cell(b->env, list, &head, &list);
         n++, b->steps--)
        *bytes = *bytes && enif_get_uint(b->env, head, &number) && number <= UINT8_MAX;
    *proper = enif_is_empty_list(b->env, list);
    *bytes = *bytes && (*proper || n > PYUSDT_MAX_STRING);
    return n;
}

static void add_string(struct builder *b, ERL_NIF_TERM list, uint32_t n)
{
    ERL_NIF_TERM head;
    unsigned number;

    if (!put_tag(b, TERM_STRING, n, 2))
        return;
    for (; n > 0 && !b->full; n--) {
        uint8_t byte;
        enif_get_list_cell(b->env, list, &head, &list);
        enif_get_uint(b->env, head, &number);
        byte = (uint8_t)number;
        put_bytes(b, &byte, 1);
    }
}

static void add_list(struct builder *b, ERL_NIF_TERM list, unsigned depth)
{
    bool bytes, proper;
    uint32_t n = measure_list(b, list, &bytes, &proper);
    ERL_NIF_TERM head;

    if (n == 0) {
        put_truncated(b); /* no steps were left */
    } else if (bytes) {
        add_string(b, list, n);
    } else if (put_tag(b, TERM_LIST, n, 4)) {
        for (; n > 0 && !b->full; n--) {
            enif_get_list_cell(b->env, list, &head, &list);
            add_term(b, head, depth);
        }
        if (proper)
            put_tag(b, TERM_NIL, 0, 0);
        else if (enif_is_list(b->env, list))
            put_truncated(b); /* the text continues */
        else
            add_term(b, list, depth);
    }
}

/* A pair is a key and its value. secrets: bits of a record's elements. */
static void add_element(struct builder *b, const ERL_NIF_TERM *elements, int n, int i,
                        uint64_t secrets, unsigned depth)
{
    if (i < 64 && (secrets >> i & 1) != 0 &&
        !enif_is_identical(elements[i], pyusdt_atoms.undefined))
        add_redacted(b);
    else if (n == 2 && i == 1)
        add_value(b, elements[0], elements[1], depth);
    else
        add_term(b, elements[i], depth);
}

static void add_tuple(struct builder *b, ERL_NIF_TERM term, unsigned depth)
{
    const ERL_NIF_TERM *elements;
    uint64_t secrets = 0;
    int n;

    enif_get_tuple(b->env, term, &n, &elements);
    if (b->redacts && n > 1 && enif_is_atom(b->env, elements[0]))
        secrets = pyusdt_secret_elements(elements[0], n);
    if (n <= UINT8_MAX ? put_tag(b, TERM_TUPLE, (uint32_t)n, 1)
                       : put_tag(b, TERM_LARGE_TUPLE, (uint32_t)n, 4))
        for (int i = 0; i < n && !b->full; i++)
            add_element(b, elements, n, i, secrets, depth);
}

static void add_map(struct builder *b, ERL_NIF_TERM term, unsigned depth)
{
    ErlNifMapIterator iterator;
    ERL_NIF_TERM key, value;
    size_t size;

    if (!enif_get_map_size(b->env, term, &size) ||
        !enif_map_iterator_create(b->env, term, &iterator, ERL_NIF_MAP_ITERATOR_FIRST)) {
        put_truncated(b);
        return;
    }
    put_tag(b, TERM_MAP, size < UINT32_MAX ? (uint32_t)size : UINT32_MAX, 4);
    while (!b->full && enif_map_iterator_get_pair(b->env, &iterator, &key, &value)) {
        add_term(b, key, depth);
        add_value(b, key, value, depth);
        enif_map_iterator_next(b->env, &iterator);
    }
    enif_map_iterator_destroy(b->env, &iterator);
}

static void add_term(struct builder *b, ERL_NIF_TERM term, unsigned depth)
{
    ErlNifTermType type = enif_term_type(b->env, term);

    if (b->full)
        return;
    if (depth == PYUSDT_TERM_DEPTH) {
        put_truncated(b);
        return;
    }
    switch (type) {
    case ERL_NIF_TERM_TYPE_INTEGER:
        add_integer(b, term);
        break;
    case ERL_NIF_TERM_TYPE_FLOAT:
        add_float(b, term);
        break;
    case ERL_NIF_TERM_TYPE_ATOM:
        add_atom(b, term);
        break;
    case ERL_NIF_TERM_TYPE_BITSTRING:
        add_binary(b, term);
        break;
    case ERL_NIF_TERM_TYPE_LIST:
        if (enif_is_empty_list(b->env, term))
            put_tag(b, TERM_NIL, 0, 0);
        else
            add_list(b, term, depth + 1);
        break;
    case ERL_NIF_TERM_TYPE_TUPLE:
        add_tuple(b, term, depth + 1);
        break;
    case ERL_NIF_TERM_TYPE_MAP:
        add_map(b, term, depth + 1);
        break;
    case ERL_NIF_TERM_TYPE_PID:
    case ERL_NIF_TERM_TYPE_PORT:
    case ERL_NIF_TERM_TYPE_REFERENCE:
        add_external(b, term);
        break;
    default:
        add_as_text(b, term);
    }
}

static void encode(ErlNifEnv *env, struct pyusdt_term *to, ERL_NIF_TERM term, bool redacts)
{
    struct builder b = {.env = env, .to = to, .steps = PYUSDT_TERM_STEPS, .redacts = redacts};

    to->length = 0;
    put_tag(&b, TERM_VERSION, 0, 0);
    add_term(&b, term, 0);
    to->bytes[to->length] = '\0';
}

void pyusdt_term_encode(ErlNifEnv *env, struct pyusdt_term *to, ERL_NIF_TERM term)
{
    encode(env, to, term, false);
}

void pyusdt_term_encode_redacted(ErlNifEnv *env, struct pyusdt_term *to, ERL_NIF_TERM term)
{
    encode(env, to, term, true);
}
