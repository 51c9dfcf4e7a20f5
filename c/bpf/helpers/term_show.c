/*
 * Terms as text, as Erlang's ~0tp prints them, with `...` for a truncated part.
 *
 * - The room for the text bounds what is written.
 */
#include "bpf/helpers/term_show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 64 /* compounds that are open at once; deeper ones are not shown */

static void put_bytes(struct pyusdt_term_writer *w, const void *bytes, size_t n)
{
    size_t room = w->size - 1 - w->length;

    if (n > room) {
        n = room;
        w->full = true;
    }
    for (const char *from = bytes; n > 0; n--, from++) /* a string of D's ends at a NUL */
        w->to[w->length++] = *from ? *from : '?';
}

static void put(struct pyusdt_term_writer *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

void pyusdt_term_put_number(struct pyusdt_term_writer *w, uint64_t number)
{
    char text[24];
    put_bytes(w, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, number));
}

/* ---- text ---- */

/* A code point of Latin-1, as UTF-8. */
static void put_latin1(struct pyusdt_term_writer *w, uint8_t c)
{
    char two[2] = {(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))};

    if (c < 0x80)
        put_bytes(w, &c, 1);
    else
        put_bytes(w, two, 2);
}

static const char escaped[] = "\n\r\t\v\b\f\033", letters[] = "nrtvbfe";

static bool is_printable(uint8_t c)
{
    return (c >= 0x20 && c < 0x7f) || c >= 0xa0 || (c && strchr(escaped, c));
}

/* Between quotes; bytes above 0x7f are Latin-1's, or parts of UTF-8 as they are. */
static void put_quoted(struct pyusdt_term_writer *w, const uint8_t *text, uint32_t length,
                       char quote, bool latin1)
{
    put_bytes(w, &quote, 1);
    for (uint32_t i = 0; i < length; i++) {
        const char *found = text[i] ? strchr(escaped, text[i]) : NULL;
        char two[2] = {'\\', found ? letters[found - escaped] : (char)text[i]};
        char octal[5];
        if (found || text[i] == (uint8_t)quote || text[i] == '\\')
            put_bytes(w, two, 2);
        else if (text[i] == 0x7f)
            put(w, "\\d");
        else if (text[i] < 0x20)
            put_bytes(w, octal, (size_t)snprintf(octal, sizeof octal, "\\%03o", text[i]));
        else if (latin1)
            put_latin1(w, text[i]);
        else
            put_bytes(w, &text[i], 1);
    }
    put_bytes(w, &quote, 1);
}

/* Bytes of the character that begins here, 0: none does.  `rest`: up to where they were cut. */
static unsigned character(const uint8_t *at, uint32_t rest)
{
    unsigned n = *at < 0x80   ? 1
                 : *at < 0xc2 ? 0
                 : *at < 0xe0 ? 2
                 : *at < 0xf0 ? 3
                 : *at < 0xf5 ? 4
                              : 0;

    if (n > rest)
        return 0;
    for (unsigned i = 1; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* The bytes of UTF-8 text, all of them or up to a character that was cut; *plain: ASCII.  0: no text. */
static uint32_t text_length(const struct pyusdt_token *t, bool *plain)
{
    uint32_t i = 0;

    *plain = true;
    while (i < t->length) {
        unsigned n = character(t->data + i, t->length - i);
        if (n == 0)
            return t->length < t->whole && t->length - i < 4 ? i : 0;
        if (n == 1 && !is_printable(t->data[i]))
            return 0;
        *plain = *plain && n == 1;
        i += n;
    }
    return i;
}

static bool all_printable(const struct pyusdt_token *t)
{
    for (uint32_t i = 0; i < t->length; i++)
        if (!is_printable(t->data[i]))
            return false;
    return true;
}

static void put_numbers(struct pyusdt_term_writer *w, const struct pyusdt_token *t)
{
    for (uint32_t i = 0; i < t->length && !w->full; i++) {
        if (i)
            put(w, ",");
        pyusdt_term_put_number(w, t->data[i]);
    }
    if (t->length < t->whole)
        put(w, t->length ? ",..." : "...");
}

static void put_string(struct pyusdt_term_writer *w, const struct pyusdt_token *t, bool bare)
{
    bool cut = t->length < t->whole;

    if (!all_printable(t)) {
        put(w, "[");
        put_numbers(w, t);
        put(w, "]");
    } else if (bare) {
        for (uint32_t i = 0; i < t->length; i++)
            put_latin1(w, t->data[i]);
        put(w, cut ? "..." : "");
    } else {
        put_quoted(w, t->data, t->length, '"', true);
        put(w, cut ? "..." : "");
    }
}

static void put_binary(struct pyusdt_term_writer *w, const struct pyusdt_token *t, bool bare)
{
    bool plain, cut = t->length < t->whole;
    uint32_t length = text_length(t, &plain);

    if (bare && (length || !t->whole)) {
        put_bytes(w, t->data, length);
        put(w, cut ? "..." : "");
        return;
    }
    put(w, "<<");
    if (length) {
        put_quoted(w, t->data, length, '"', false);
        put(w, plain ? "" : "/utf8");
        put(w, cut ? "..." : "");
    } else {
        put_numbers(w, t);
    }
    put(w, ">>");
}

/* ---- atoms and numbers ---- */

static bool is_reserved(const struct pyusdt_token *t)
{
    static const char *const words[] = {
        "after", "and",   "andalso", "band",   "begin",   "bnot", "bor", "bsl",  "bsr", "bxor",
        "case",  "catch", "cond",    "div",    "else",    "end",  "fun", "if",   "let", "maybe",
        "not",   "of",    "or",      "orelse", "receive", "rem",  "try", "when", "xor"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == t->length && memcmp(words[i], t->data, t->length) == 0)
            return true;
    return false;
}

/* The code point at *i, which moves behind it; 0: one beyond Latin-1. */
static unsigned latin1_at(const struct pyusdt_token *t, uint32_t *i)
{
    unsigned c = t->data[(*i)++];

    if (t->latin1 || c < 0x80)
        return c;
    if ((c & 0xfe) != 0xc2 || *i == t->length)
        return 0;
    return (c & 3) << 6 | (t->data[(*i)++] & 0x3f);
}

static bool is_lower(unsigned c)
{
    return (c >= 'a' && c <= 'z') || (c >= 0xdf && c != 0xf7);
}

static bool is_upper(unsigned c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7);
}

static bool needs_quotes(const struct pyusdt_token *t)
{
    uint32_t i = 0;

    if (t->length == 0 || !is_lower(latin1_at(t, &i)))
        return true;
    while (i < t->length) {
        unsigned c = latin1_at(t, &i);
        if (!is_lower(c) && !is_upper(c) && !(c >= '0' && c <= '9') && c != '_' && c != '@')
            return true;
    }
    return is_reserved(t);
}

static void put_atom(struct pyusdt_term_writer *w, const struct pyusdt_token *t, bool bare)
{
    if (!bare && needs_quotes(t))
        put_quoted(w, t->data, t->length, '\'', t->latin1);
    else
        for (uint32_t i = 0; i < t->length; i++) {
            if (t->latin1)
                put_latin1(w, t->data[i]);
            else
                put_bytes(w, &t->data[i], 1);
        }
}

/* The shortest digits that are this number, as Erlang writes them: 0.1, 1.0e22. */
static void put_float(struct pyusdt_term_writer *w, double real)
{
    char digits[32], plain[64], scientific[40];
    int precision = 0, exponent;

    if (!isfinite(real)) { /* no float of Erlang's */
        put(w, "...");
        return;
    }
    do
        snprintf(digits, sizeof digits, "%.*e", precision, real);
    while (strtod(digits, NULL) != real && precision++ < 16);
    exponent = atoi(strchr(digits, 'e') + 1);
    *strchr(digits, 'e') = '\0';
    snprintf(scientific, sizeof scientific, "%s%se%d", digits, strchr(digits, '.') ? "" : ".0",
             exponent);
    if (exponent < -6 || exponent > 16) {
        put(w, scientific);
        return;
    }
    snprintf(plain, sizeof plain, "%.*f", precision > exponent ? precision - exponent : 1, real);
    put(w, real == 0 || strlen(plain) <= strlen(scientific) ? plain : scientific);
}

/* "#Ref<0" and the like, a number behind each point. */
static void put_name(struct pyusdt_term_writer *w, const char *start, const uint32_t *words,
                     uint32_t n)
{
    put(w, start);
    for (uint32_t i = 0; i < n; i++) {
        put(w, ".");
        pyusdt_term_put_number(w, words[i]);
    }
    put(w, ">");
}

/* ---- terms ---- */

static void put_term(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r, unsigned depth);

/* `count` terms, with these between them in turn.  False: they were not all there, and that was shown. */
static bool put_terms(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r, uint64_t count,
                      const char *const between[2], unsigned depth)
{
    for (uint64_t i = 0; i < count && !w->full; i++) {
        if (i)
            put(w, between[i & 1]);
        if (r->at == r->end)
            return put(w, "..."), false;
        put_term(w, r, depth);
    }
    return true;
}

static void put_compound(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r,
                         const struct pyusdt_token *t, unsigned depth)
{
    static const char *const comma[2] = {",", ","}, *const arrow[2] = {",", " => "};
    struct pyusdt_term_reader tail;
    struct pyusdt_token last;
    bool whole;

    if (depth == DEPTH) {
        r->at = r->end;
        put(w, "...");
        return;
    }
    put(w, t->kind == KIND_LIST ? "[" : t->kind == KIND_MAP ? "#{" : "{");
    whole = put_terms(w, r, t->kind == KIND_MAP ? 2 * (uint64_t)t->count : t->count,
                      t->kind == KIND_MAP ? arrow : comma, depth + 1);
    tail = *r;
    if (t->kind == KIND_LIST && whole) {
        if (pyusdt_term_next(&tail, &last) && last.kind == KIND_NIL) {
            *r = tail;
        } else {
            put(w, "|");
            put_term(w, r, depth + 1);
        }
    }
    put(w, t->kind == KIND_LIST ? "]" : "}");
}

static void put_token(struct pyusdt_term_writer *w, const struct pyusdt_token *t, bool bare)
{
    switch (t->kind) {
    case KIND_INTEGER:
        put(w, t->negative ? "-" : "");
        pyusdt_term_put_number(w, t->magnitude);
        break;
    case KIND_FLOAT:
        put_float(w, t->real);
        break;
    case KIND_ATOM:
        put_atom(w, t, bare);
        break;
    case KIND_STRING:
        put_string(w, t, bare);
        break;
    case KIND_BINARY:
        put_binary(w, t, bare);
        break;
    case KIND_NIL:
        put(w, "[]");
        break;
    case KIND_SHOWN:
        put_bytes(w, t->data, t->length);
        break;
    case KIND_PID:
        put_name(w, "<0", t->words, 2);
        break;
    case KIND_PORT:
        put(w, "#Port<0.");
        pyusdt_term_put_number(w, t->magnitude);
        put(w, ">");
        break;
    case KIND_REF:
        put_name(w, "#Ref<0", t->words, t->count);
        break;
    default:
        put(w, "...");
    }
}

static void put_any(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r, unsigned depth,
                    bool bare)
{
    struct pyusdt_token t;

    if (!pyusdt_term_next(r, &t))
        put(w, "...");
    else if (t.kind == KIND_LIST || t.kind == KIND_TUPLE || t.kind == KIND_MAP)
        put_compound(w, r, &t, depth);
    else
        put_token(w, &t, bare);
}

static void put_term(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r, unsigned depth)
{
    put_any(w, r, depth, false);
}

void pyusdt_term_show(struct pyusdt_term_writer *w, struct pyusdt_term_reader *r, bool bare)
{
    put_any(w, r, 0, bare);
}

/* `...` instead of what did not fit, on a character boundary. */
static void mark_cut(struct pyusdt_term_writer *w)
{
    uint32_t at = w->size > 4 ? w->size - 4 : 0;

    while (at > 0 && ((uint8_t)w->to[at] & 0xc0) == 0x80)
        at--;
    w->length = at;
    w->full = false;
    put(w, w->size > 4 ? "..." : "");
}

int pyusdt_term_finish(struct pyusdt_term_writer *w)
{
    if (w->full)
        mark_cut(w);
    memset(w->to + w->length, 0, w->size - w->length);
    return (int)w->length + 1;
}
