/* The way to an element of a term: see term.h. */
#include "bpf/helpers/term.h"

#include <errno.h>
#include <string.h>

#include "bpf/helpers/term_show.h"
#include "shared/term_format.h"

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
    return (t->kind == KIND_ATOM || t->kind == KIND_STRING || t->kind == KIND_BINARY) &&
           t->length == t->whole && t->length == strlen(step->text) &&
           memcmp(t->data, step->text, t->length) == 0;
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
        if (pyusdt_term_next(&pair, &t) && t.kind == KIND_TUPLE && t.count == 2 &&
            find_value(&pair, 1, step)) {
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
static bool follow_step(struct pyusdt_term_reader *r, const struct step *step, int *number)
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

int pyusdt_term_text(const uint8_t *term, uint32_t size, const uint8_t *path, uint32_t path_size,
                     char *out, uint32_t out_size)
{
    struct pyusdt_term_reader r = {term + 1, term + size}, end;
    struct pyusdt_term_writer w = {.to = out, .size = out_size};
    const uint8_t *path_end = path + path_size;
    struct pyusdt_token token;
    struct step step;
    int number = -1;

    if (out_size == 0 || size == 0 || term[0] != TERM_VERSION)
        return -EINVAL;
    for (const uint8_t *at = path; at < path_end;) {
        if (!take_step(&at, path_end, &step))
            return -EINVAL;
        if (!follow_step(&r, &step, &number))
            return -ENOENT;
    }
    end = r;
    if (number >= 0)
        pyusdt_term_put_number(&w, (uint64_t)number);
    else if (path_size && (!pyusdt_term_next(&end, &token) || token.kind == KIND_CUT))
        return -ENOENT;
    else
        pyusdt_term_show(&w, &r, path_size != 0);
    return pyusdt_term_finish(&w);
}
