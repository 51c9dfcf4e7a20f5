/*
 * Names as DTrace treats them: the globs of probe descriptions, and the `__` <-> `-` rule. The
 * target, the tracer and the command line share it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../include/pyusdt.h"

/* Matches one character against the set that starts behind its '['. *end is set behind the ']', or
 * to NULL without one: then '[' is no set, and matches nothing (as in DTrace). */
static bool match_set(const char *set, unsigned char c, const char **end)
{
    bool negated = *set == '!', found = false;
    unsigned char from = 0;
    const char *at = set + negated;

    *end = NULL;
    for (bool first = true; first || *at != ']'; first = false) {
        unsigned char low, high;
        if (*at == '\0')
            return false;
        if (*at == '-' && from != 0 && at[1] != ']' &&
            at[1] != '\0') { /* a range, from the character before */
            at++;
            if (*at == '\\' && at[1] != '\0')
                at++;
            low = from, high = (unsigned char)*at++;
            from = 0;
        } else {
            if (*at == '\\' && at[1] != '\0')
                at++;
            low = high = from = (unsigned char)*at++;
        }
        found |= c >= low && c <= high;
    }
    *end = at + 1;
    return found != negated;
}

/* Whether the first element of a pattern (no `*`) matches the character; *rest: behind the
 * element. */
static bool match_element(const char *pattern, unsigned char c, const char **rest)
{
    const char *end;
    bool matched;

    *rest = pattern + 1;
    if (c == '\0')
        return false;
    switch (*pattern) {
    case '?':
        return true;
    case '[':
        matched = match_set(pattern + 1, c, &end);
        if (!end)
            return false;
        *rest = end;
        return matched;
    case '\\':
        *rest = pattern + 2;
        return pattern[1] != '\0' && (unsigned char)pattern[1] == c;
    default:
        return (unsigned char)*pattern == c;
    }
}

/* Going back to the last `*` only is enough: an earlier one could match no more than it does. So
 * time is n * m. */
int pyusdt_glob(const char *pattern, const char *string)
{
    const char *star = NULL, *resume = NULL, *rest;

    if (*pattern == '\0')
        return 1;
    for (;;) {
        if (*pattern == '*') {
            star = ++pattern;
            resume = string;
        } else if (*pattern == '\0' && *string == '\0') {
            return 1;
        } else if (*pattern != '\0' && match_element(pattern, (unsigned char)*string, &rest)) {
            pattern = rest;
            string++;
        } else if (star && *resume != '\0') {
            pattern = star;
            string = ++resume;
        } else {
            return 0;
        }
    }
}

static int replace_all(const char *in, const char *from, const char *to, char *out, size_t size)
{
    size_t from_length = strlen(from), to_length = strlen(to), n = 0;

    while (*in) {
        bool found = strncmp(in, from, from_length) == 0;
        size_t length = found ? to_length : 1;
        if (n + length >= size)
            return -ENAMETOOLONG;
        memcpy(out + n, found ? to : in, length);
        n += length;
        in += found ? from_length : 1;
    }
    if (size == 0)
        return -ENAMETOOLONG;
    out[n] = '\0';
    return (int)n;
}

int pyusdt_probe_name(const char *note, char *name, size_t size)
{
    return replace_all(note, "__", "-", name, size);
}

int pyusdt_note_name(const char *name, char *note, size_t size)
{
    return replace_all(name, "-", "__", note, size);
}
