/*
 * The tokens of a term argument.
 *
 * - The bytes are untrusted: every length is checked; a truncated token, or one that is none, reads
 *   as the end.
 */
#include "bpf/helpers/term_read.h"

#include <string.h>

#include "shared/term_format.h"

static bool read_uint(struct pyusdt_term_reader *r, unsigned bytes, uint64_t *value)
{
    if ((size_t)(r->end - r->at) < bytes)
        return false;
    *value = 0;
    while (bytes-- > 0)
        *value = *value << 8 | *r->at++;
    return true;
}

/* The bytes that a number of `size` bytes counts.  Those of a part may be cut. */
static bool take_bytes(struct pyusdt_term_reader *r, struct pyusdt_token *t,
                       enum pyusdt_term_kind kind, unsigned size, bool may_be_cut)
{
    uint64_t whole;

    if (!read_uint(r, size, &whole))
        return false;
    t->kind = kind;
    t->data = r->at;
    t->whole = (uint32_t)whole;
    t->length = t->whole < (size_t)(r->end - r->at) ? t->whole : (uint32_t)(r->end - r->at);
    if (t->length < t->whole && !may_be_cut)
        return false;
    r->at += t->length;
    return true;
}

static bool take_count(struct pyusdt_term_reader *r, struct pyusdt_token *t,
                       enum pyusdt_term_kind kind, unsigned size)
{
    uint64_t count;

    if (!read_uint(r, size, &count))
        return false;
    t->kind = kind;
    t->count = (uint32_t)count;
    return true;
}

static bool take_integer(struct pyusdt_term_reader *r, struct pyusdt_token *t, unsigned size)
{
    uint64_t value;

    if (!read_uint(r, size, &value))
        return false;
    t->kind = KIND_INTEGER;
    t->negative = size == 4 && (int32_t)value < 0;
    t->magnitude = t->negative ? (uint64_t)-(int64_t)(int32_t)value : value;
    return true;
}

/* At most 64 bits: larger ones are not carried. */
static bool take_big(struct pyusdt_term_reader *r, struct pyusdt_token *t)
{
    uint64_t size, negative;

    if (!read_uint(r, 1, &size) || !read_uint(r, 1, &negative) || size > 8 ||
        (size_t)(r->end - r->at) < size)
        return false;
    t->kind = KIND_INTEGER;
    t->negative = negative != 0;
    t->magnitude = 0;
    for (unsigned i = 0; i < size; i++)
        t->magnitude |= (uint64_t)*r->at++ << (8 * i);
    return true;
}

static bool take_float(struct pyusdt_term_reader *r, struct pyusdt_token *t)
{
    uint64_t bits;

    if (!read_uint(r, 8, &bits))
        return false;
    t->kind = KIND_FLOAT;
    memcpy(&t->real, &bits, sizeof t->real);
    return true;
}

/* The node's name, which is not shown, in front of what identifies something of it. */
static bool take_node(struct pyusdt_term_reader *r)
{
    struct pyusdt_token node;
    return pyusdt_term_next(r, &node) && node.kind == KIND_ATOM;
}

static bool take_pid(struct pyusdt_term_reader *r, struct pyusdt_token *t)
{
    uint64_t id, serial, creation;

    if (!take_node(r) || !read_uint(r, 4, &id) || !read_uint(r, 4, &serial) ||
        !read_uint(r, 4, &creation))
        return false;
    t->kind = KIND_PID;
    t->words[0] = (uint32_t)id;
    t->words[1] = (uint32_t)serial;
    return true;
}

static bool take_port(struct pyusdt_term_reader *r, struct pyusdt_token *t, unsigned size)
{
    uint64_t creation;

    if (!take_node(r) || !read_uint(r, size, &t->magnitude) || !read_uint(r, 4, &creation))
        return false;
    t->kind = KIND_PORT;
    return true;
}

/* Its words come last one first. */
static bool take_ref(struct pyusdt_term_reader *r, struct pyusdt_token *t)
{
    uint64_t count, creation, word;

    if (!read_uint(r, 2, &count) || count > 5 || !take_node(r) || !read_uint(r, 4, &creation))
        return false;
    t->kind = KIND_REF;
    t->count = (uint32_t)count;
    for (unsigned i = (unsigned)count; i-- > 0;) {
        if (!read_uint(r, 4, &word))
            return false;
        t->words[i] = (uint32_t)word;
    }
    return true;
}

static bool take_token(struct pyusdt_term_reader *r, struct pyusdt_token *t, uint64_t tag)
{
    t->latin1 = tag == TERM_ATOM_LATIN1;
    switch (tag) {
    case TERM_CUT:
        return t->kind = KIND_CUT, true;
    case TERM_NIL:
        return t->kind = KIND_NIL, true;
    case TERM_SHOWN:
        return take_bytes(r, t, KIND_SHOWN, 1, false);
    case TERM_U8:
        return take_integer(r, t, 1);
    case TERM_I32:
        return take_integer(r, t, 4);
    case TERM_BIG:
        return take_big(r, t);
    case TERM_FLOAT:
        return take_float(r, t);
    case TERM_ATOM:
    case TERM_ATOM_LATIN1:
        return take_bytes(r, t, KIND_ATOM, 2, false);
    case TERM_SMALL_ATOM:
        return take_bytes(r, t, KIND_ATOM, 1, false);
    case TERM_STRING:
        return take_bytes(r, t, KIND_STRING, 2, true);
    case TERM_BINARY:
        return take_bytes(r, t, KIND_BINARY, 4, true);
    case TERM_TUPLE:
        return take_count(r, t, KIND_TUPLE, 1);
    case TERM_LARGE_TUPLE:
        return take_count(r, t, KIND_TUPLE, 4);
    case TERM_LIST:
        return take_count(r, t, KIND_LIST, 4);
    case TERM_MAP:
        return take_count(r, t, KIND_MAP, 4);
    case TERM_PID:
        return take_pid(r, t);
    case TERM_PORT4:
        return take_port(r, t, 4);
    case TERM_PORT8:
        return take_port(r, t, 8);
    case TERM_REF:
        return take_ref(r, t);
    default:
        return false;
    }
}

bool pyusdt_term_next(struct pyusdt_term_reader *reader, struct pyusdt_token *token)
{
    uint64_t tag;

    memset(token, 0, sizeof *token);
    if (read_uint(reader, 1, &tag) && take_token(reader, token, tag))
        return true;
    reader->at = reader->end; /* nothing behind it can be distinguished */
    return false;
}

bool pyusdt_term_skip(struct pyusdt_term_reader *reader)
{
    struct pyusdt_token token;

    /* how many terms are to come; each is a byte at least, so it ends */
    for (uint64_t left = 1; left > 0; left--) {
        if (!pyusdt_term_next(reader, &token) || token.length < token.whole)
            return false;
        if (token.kind == KIND_MAP)
            left += 2 * (uint64_t)token.count;
        else if (token.kind == KIND_TUPLE || token.kind == KIND_LIST)
            left += (uint64_t)token.count + (token.kind == KIND_LIST);
    }
    return true;
}
