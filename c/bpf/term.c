/* Terms as text, and the way to an element: see term.h. */
#include "bpf/term.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/term_read.h"
#include "shared/term.h"

#define DEPTH 64 /* compounds that are open at once; deeper ones are not shown */

struct writer {
    char *to;
    uint32_t length, size; /* size: with the NUL */
    bool full;
};

static void put_bytes(struct writer *w, const void *bytes, size_t n)
{
    size_t room = w->size - 1 - w->length;

    if (n > room) {
        n = room;
        w->full = true;
    }
    memcpy(w->to + w->length, bytes, n);
    w->length += (uint32_t)n;
}

static void put(struct writer *w, const char *text)
{
    put_bytes(w, text, strlen(text));
}

static void put_number(struct writer *w, uint64_t number)
{
    char text[24];
    put_bytes(w, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, number));
}

/* ---- text ---- */

/* A code point of Latin-1, as UTF-8. */
static void put_latin1(struct writer *w, uint8_t c)
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
static void put_quoted(struct writer *w, const uint8_t *text, uint32_t length, char quote, bool latin1)
{
    put_bytes(w, &quote, 1);
    for (uint32_t i = 0; i < length; i++) {
        const char *found = text[i] ? strchr(escaped, text[i]) : NULL;
        char two[2] = {'\\', found ? letters[found - escaped] : (char)text[i]};
        if (found || text[i] == (uint8_t)quote || text[i] == '\\')
            put_bytes(w, two, 2);
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
    unsigned n = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;

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

static void put_numbers(struct writer *w, const struct pyusdt_token *t)
{
    for (uint32_t i = 0; i < t->length && !w->full; i++) {
        if (i)
            put(w, ",");
        put_number(w, t->data[i]);
    }
    if (t->length < t->whole)
        put(w, t->length ? ",..." : "...");
}

static void put_string(struct writer *w, const struct pyusdt_token *t, bool bare)
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

static void put_binary(struct writer *w, const struct pyusdt_token *t, bool bare)
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
    static const char *const words[] = {"after", "and", "andalso", "band", "begin", "bnot", "bor", "bsl", "bsr",
                                        "bxor", "case", "catch", "cond", "div", "else", "end", "fun", "if", "let",
                                        "maybe", "not", "of", "or", "orelse", "receive", "rem", "try", "when", "xor"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == t->length && memcmp(words[i], t->data, t->length) == 0)
            return true;
    return false;
}

static bool needs_quotes(const struct pyusdt_token *t)
{
    if (t->length == 0 || t->data[0] < 'a' || t->data[0] > 'z')
        return true;
    for (uint32_t i = 0; i < t->length; i++) {
        uint8_t c = t->data[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '@';
        if (!word)
            return true;
    }
    return is_reserved(t);
}

static void put_atom(struct writer *w, const struct pyusdt_token *t, bool bare)
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
static void put_float(struct writer *w, double real)
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
    snprintf(scientific, sizeof scientific, "%s%se%d", digits, strchr(digits, '.') ? "" : ".0", exponent);
    if (exponent < -6 || exponent > 16) {
        put(w, scientific);
        return;
    }
    snprintf(plain, sizeof plain, "%.*f", precision > exponent ? precision - exponent : 1, real);
    put(w, real == 0 || strlen(plain) <= strlen(scientific) ? plain : scientific);
}

/* "#Ref<0" and the like, a number behind each point. */
static void put_name(struct writer *w, const char *start, const uint32_t *words, uint32_t n)
{
    put(w, start);
    for (uint32_t i = 0; i < n; i++) {
        put(w, ".");
        put_number(w, words[i]);
    }
    put(w, ">");
}

/* ---- terms ---- */

static void put_term(struct writer *w, struct pyusdt_term_reader *r, unsigned depth);

/* `count` terms, with these between them in turn.  False: they were not all there, and that was shown. */
static bool put_terms(struct writer *w, struct pyusdt_term_reader *r, uint64_t count, const char *const between[2],
                      unsigned depth)
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

static void put_compound(struct writer *w, struct pyusdt_term_reader *r, const struct pyusdt_token *t, unsigned depth)
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

static void put_token(struct writer *w, const struct pyusdt_token *t, bool bare)
{
    switch (t->kind) {
    case KIND_INTEGER:
        put(w, t->negative ? "-" : "");
        put_number(w, t->magnitude);
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
        put_number(w, t->magnitude);
        put(w, ">");
        break;
    case KIND_REF:
        put_name(w, "#Ref<0", t->words, t->count);
        break;
    default:
        put(w, "...");
    }
}

static void put_any(struct writer *w, struct pyusdt_term_reader *r, unsigned depth, bool bare)
{
    struct pyusdt_token t;

    if (!pyusdt_term_next(r, &t))
        put(w, "...");
    else if (t.kind == KIND_LIST || t.kind == KIND_TUPLE || t.kind == KIND_MAP)
        put_compound(w, r, &t, depth);
    else
        put_token(w, &t, bare);
}

static void put_term(struct writer *w, struct pyusdt_term_reader *r, unsigned depth)
{
    put_any(w, r, depth, false);
}

/* ---- paths ---- */

struct step {
    const char *text; /* NULL: number */
    int64_t number;
};

static bool take_step(const uint8_t **path, const uint8_t *end, struct step *step)
{
    uint64_t size;

    if (end - *path < 16)
        return false;
    memcpy(&size, *path, sizeof size);
    *path += sizeof size;
    step->text = NULL;
    if (size == 0) {
        memcpy(&step->number, *path, sizeof step->number);
        size = sizeof step->number;
    } else {
        if (size > (uint64_t)(end - *path) || !memchr(*path, 0, size))
            return false;
        step->text = (const char *)*path;
    }
    *path += size;
    return true;
}

static bool is_key(const struct pyusdt_token *t, const struct step *step)
{
    int64_t number = t->negative ? (int64_t)-t->magnitude : (int64_t)t->magnitude;

    if (!step->text)
        return t->kind == KIND_INTEGER && number == step->number;
    return (t->kind == KIND_ATOM || t->kind == KIND_STRING || t->kind == KIND_BINARY) && t->length == t->whole &&
           t->length == strlen(step->text) && memcmp(t->data, step->text, t->length) == 0;
}

/* The reader to a map's value. */
static bool find_value(struct pyusdt_term_reader *r, uint32_t pairs, const struct step *step)
{
    for (uint32_t i = 0; i < pairs; i++) {
        struct pyusdt_term_reader key = *r;
        struct pyusdt_token t;
        if (!pyusdt_term_skip(r) || !pyusdt_term_next(&key, &t))
            return false;
        if (is_key(&t, step))
            return true;
        if (!pyusdt_term_skip(r))
            return false;
    }
    return false;
}

/* The reader to the second of the pair whose first it is. */
static bool find_pair(struct pyusdt_term_reader *r, uint32_t elements, const struct step *step)
{
    for (uint32_t i = 0; i < elements; i++) {
        struct pyusdt_term_reader pair = *r;
        struct pyusdt_token t;
        if (pyusdt_term_next(&pair, &t) && t.kind == KIND_TUPLE && t.count == 2 && find_value(&pair, 1, step)) {
            *r = pair;
            return true;
        }
        if (!pyusdt_term_skip(r))
            return false;
    }
    return false;
}

static bool find_element(struct pyusdt_term_reader *r, uint32_t count, int64_t number)
{
    if (number < 1 || number > (int64_t)count)
        return false;
    while (--number > 0)
        if (!pyusdt_term_skip(r))
            return false;
    return true;
}

/* One step of the way.  A character of a string is a whole term's way: *number is it then, and the reader at the end. */
static bool follow(struct pyusdt_term_reader *r, const struct step *step, int *number)
{
    struct pyusdt_token t;

    if (!pyusdt_term_next(r, &t))
        return false;
    if (t.kind == KIND_MAP)
        return find_value(r, t.count, step);
    if (t.kind == KIND_LIST && step->text)
        return find_pair(r, t.count, step);
    if (step->text)
        return false;
    if (t.kind == KIND_STRING && step->number >= 1 && step->number <= (int64_t)t.length) {
        *number = t.data[step->number - 1];
        r->at = r->end;
        return true;
    }
    return (t.kind == KIND_TUPLE || t.kind == KIND_LIST) && find_element(r, t.count, step->number);
}

/* `...` instead of what did not fit, on a character boundary. */
static void mark_cut(struct writer *w)
{
    uint32_t at = w->size > 4 ? w->size - 4 : 0;

    while (at > 0 && ((uint8_t)w->to[at] & 0xc0) == 0x80)
        at--;
    w->length = at;
    w->full = false;
    put(w, w->size > 4 ? "..." : "");
}

int pyusdt_term_text(const uint8_t *term, uint32_t size, const uint8_t *path, uint32_t path_size, char *out,
                     uint32_t out_size)
{
    struct pyusdt_term_reader r = {term + 1, term + size}, end;
    struct writer w = {.to = out, .size = out_size};
    const uint8_t *path_end = path + path_size;
    struct pyusdt_token token;
    struct step step;
    int number = -1;

    if (out_size == 0 || size == 0 || term[0] != TERM_VERSION)
        return -EINVAL;
    for (const uint8_t *at = path; at < path_end;) {
        if (!take_step(&at, path_end, &step))
            return -EINVAL;
        if (!follow(&r, &step, &number))
            return -ENOENT;
    }
    end = r;
    if (number >= 0)
        put_number(&w, (uint64_t)number);
    else if (path_size && (!pyusdt_term_next(&end, &token) || token.kind == KIND_CUT))
        return -ENOENT;
    else
        put_any(&w, &r, 0, path_size != 0);
    if (w.full)
        mark_cut(&w);
    out[w.length] = '\0';
    return (int)w.length + 1;
}
