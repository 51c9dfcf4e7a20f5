/* A value out of a JSON text (json.h).  As illumos's json() it begins with an object or an array, and looks no further
 * than the value that was asked for. */
#include "bpf/helpers/json.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What is left to read of a text. */
struct reader {
    const char *at, *end;
};

static void skip_space(struct reader *in)
{
    while (in->at < in->end &&
           strchr(" \t\n\r\v\f", *in->at)) /* its NUL is none of these: `end` is before it */
        in->at++;
}

static bool skip_char(struct reader *in, char c)
{
    skip_space(in);
    if (in->at == in->end || *in->at != c)
        return false;
    in->at++;
    return true;
}

/* A string whose opening quote has been read: what is between the quotes. */
static bool read_string(struct reader *in, struct reader *inside)
{
    inside->at = in->at;
    for (; in->at < in->end; in->at++) {
        if (*in->at == '"') {
            inside->end = in->at++;
            return true;
        }
        if (*in->at == '\\' && ++in->at == in->end)
            break;
    }
    return false;
}

/* An object or array whose bracket has been read, to its end. */
static bool skip_nested(struct reader *in, char first)
{
    unsigned braces = first == '{', brackets = first == '[';
    struct reader inside;
    while (in->at < in->end) {
        char c = *in->at++;
        if (c == '"' && !read_string(in, &inside))
            return false;
        if ((c == '}' && braces-- == 0) || (c == ']' && brackets-- == 0))
            return false;
        braces += c == '{';
        brackets += c == '[';
        if (braces == 0 && brackets == 0)
            return true;
    }
    return false;
}

static bool is_bare(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == 'E' || c == '+' || c == '-' ||
           c == '.';
}

static bool is_number(struct reader text)
{
    if (text.at < text.end && *text.at == '-')
        text.at++;
    if (text.at == text.end || *text.at < '0' || *text.at > '9')
        return false;
    bool exponent = false;
    for (; text.at < text.end; text.at++) {
        char c = *text.at;
        if (!exponent && (c == 'e' || c == 'E'))
            exponent = true;
        else if (!((c >= '0' && c <= '9') || (c == '.' && !exponent) ||
                   ((c == '+' || c == '-') && exponent)))
            return false;
    }
    return true;
}

static bool is_word(struct reader text)
{
    size_t n = (size_t)(text.end - text.at);
    return (n == 4 && (!memcmp(text.at, "true", 4) || !memcmp(text.at, "null", 4))) ||
           (n == 5 && !memcmp(text.at, "false", 5));
}

/* Any value; *value is what is shown of it. */
static bool read_value(struct reader *in, struct reader *value)
{
    skip_space(in);
    value->at = in->at;
    if (in->at == in->end)
        return false;
    if (*in->at == '"') {
        in->at++;
        return read_string(in, value);
    }
    if (*in->at == '{' || *in->at == '[') {
        char first = *in->at++;
        bool whole = skip_nested(in, first);
        value->end = in->at;
        return whole;
    }
    while (in->at < in->end && is_bare(*in->at))
        in->at++;
    value->end = in->at;
    return is_number(*value) || is_word(*value);
}

/* One step of a path: up to the next `.` or `[`; of an index what is in the brackets. */
static struct reader next_step(struct reader *path)
{
    if (path->at < path->end && *path->at == '[')
        path->at++;
    struct reader step = {path->at, path->at};
    while (step.end < path->end && !strchr(".[]", *step.end))
        step.end++;
    path->at = step.end;
    if (path->at < path->end && *path->at == ']')
        path->at++;
    if (path->at < path->end && *path->at == '.')
        path->at++;
    return step;
}

/* The number of an index; -1: it is none. */
static int64_t index_of(struct reader step)
{
    int64_t index = 0;
    if (step.at == step.end)
        return -1;
    for (; step.at < step.end; step.at++) {
        if (*step.at < '0' || *step.at > '9' || index > UINT32_MAX)
            return -1;
        index = 10 * index + *step.at - '0';
    }
    return index;
}

/* Reads on to the value of a step, in the object or array that begins here. */
static bool find_step_value(struct reader *in, struct reader step)
{
    bool is_array = skip_char(in, '[');
    if (!is_array && !skip_char(in, '{'))
        return false;
    int64_t left = is_array ? index_of(step) : -1;
    if (is_array && left < 0)
        return false;
    for (;;) {
        struct reader key = step, passed;
        if (!is_array && (!skip_char(in, '"') || !read_string(in, &key) || !skip_char(in, ':')))
            return false;
        size_t n = (size_t)(key.end - key.at);
        if (is_array ? left-- == 0
                     : n == (size_t)(step.end - step.at) && !memcmp(key.at, step.at, n))
            return true;
        if (!read_value(in, &passed) || !skip_char(in, ','))
            return false;
    }
}

int pyusdt_json_text(const char *text, uint32_t size, const char *path, uint32_t path_size,
                     char *out, uint32_t out_size)
{
    struct reader in = {text, text + strnlen(text, size)},
                  steps = {path, path + strnlen(path, path_size)}, value;
    if (out_size == 0)
        return -ENOENT;
    do {
        if (!find_step_value(&in, next_step(&steps)))
            return -ENOENT;
    } while (steps.at < steps.end);
    if (!read_value(&in, &value))
        return -ENOENT;
    size_t n = (size_t)(value.end - value.at);
    if (n > out_size - 1)
        n = out_size - 1;
    memcpy(out, value.at, n);
    out[n] = 0;
    return (int)n + 1;
}
