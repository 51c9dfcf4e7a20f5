/* Converts Erlang terms to the strings of an event (see iolist_text.h). */
#include "iolist_text.h"

#include <string.h>

/* One more than an event shows. */
#define COLLECTED (PYUSDT_MAX_STRING + 1)

static void append_bytes(struct pyusdt_iolist_text *text, const void *bytes, size_t size)
{
    size_t room = COLLECTED - text->length;

    if (size > room)
        size = room;
    memcpy(text->bytes + text->length, bytes, size);
    text->length += (uint32_t)size;
}

static bool append_binary(ErlNifEnv *env, struct pyusdt_iolist_text *text, ERL_NIF_TERM term)
{
    ErlNifBinary binary;

    if (!enif_is_binary(env, term) || !enif_inspect_binary(env, term, &binary))
        return false;
    append_bytes(text, binary.data, binary.size);
    return true;
}

/* A list's element that is no list itself. */
static bool append_element(ErlNifEnv *env, struct pyusdt_iolist_text *text, ERL_NIF_TERM term)
{
    unsigned number;
    char byte;

    if (!enif_get_uint(env, term, &number))
        return append_binary(env, text, term);
    if (number > UINT8_MAX)
        return false;
    byte = (char)number;
    append_bytes(text, &byte, 1);
    return true;
}

/* From left to right, with a stack of the tails that are still to be read. False: no iolist. */
static bool append_list(ErlNifEnv *env, struct pyusdt_iolist_text *text, ERL_NIF_TERM list)
{
    ERL_NIF_TERM tails[PYUSDT_TEXT_DEPTH], head;
    unsigned depth = 0;

    for (unsigned steps = 0; text->length < COLLECTED && steps < PYUSDT_TEXT_STEPS; steps++) {
        if (enif_get_list_cell(env, list, &head, &list)) {
            if (!enif_is_list(env, head)) {
                if (!append_element(env, text, head))
                    return false;
            } else {
                if (depth == PYUSDT_TEXT_DEPTH)
                    return true;
                tails[depth++] = list;
                list = head;
            }
        } else if (enif_is_empty_list(env, list) || append_binary(env, text, list)) {
            if (depth == 0)
                return true;
            list = tails[--depth];
        } else {
            return false;
        }
    }
    return true;
}

bool pyusdt_iolist_text_set(ErlNifEnv *env, struct pyusdt_iolist_text *text, ERL_NIF_TERM term)
{
    text->address = NULL;
    text->length = 0;
    if (enif_is_list(env, term) ? !append_list(env, text, term) : !append_binary(env, text, term)) {
        text->length = 0;
        return false;
    }
    text->length = pyusdt_text_length(text->bytes, text->length);
    text->bytes[text->length] = '\0';
    text->address = text->bytes;
    return true;
}
