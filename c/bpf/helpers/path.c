/* A path without what means nothing in it; see path.h. */
#include "bpf/helpers/path.h"

#include <stdbool.h>
#include <string.h>

/* The result while it is made.  fixed: what `..` does not take away: the root, and `..` before it. */
struct cleaned {
    char *text;
    uint32_t length, fixed;
};

/* Take the last part away. */
static void drop_last_part(struct cleaned *c)
{
    while (c->length > c->fixed && c->text[c->length - 1] != '/')
        c->length--;
    if (c->length > c->fixed)
        c->length--; /* the slash before it */
}

static void add_part(struct cleaned *c, const char *part, uint32_t length)
{
    if (c->length && c->text[c->length - 1] != '/')
        c->text[c->length++] = '/';
    memcpy(c->text + c->length, part, length);
    c->length += length;
}

/* One part, which is not empty. */
static void add_or_drop_part(struct cleaned *c, const char *part, uint32_t length, bool absolute)
{
    bool dots = part[0] == '.' && (length == 1 || (length == 2 && part[1] == '.'));

    if (!dots) {
        add_part(c, part, length);
    } else if (length == 2 && c->length > c->fixed) {
        drop_last_part(c);
    } else if (length == 2 && !absolute) {
        add_part(c, part, length);
        c->fixed = c->length;
    }
}

uint32_t pyusdt_path_clean(const char *path, uint32_t size, char *out)
{
    uint32_t end = (uint32_t)strnlen(path, size), at = 0;
    struct cleaned c = {out, 0, 0};
    bool absolute = end && path[0] == '/';

    if (size < 2) {
        if (size)
            out[0] = 0;
        return size;
    }
    if (end == size)
        end--; /* room for the NUL */
    if (absolute) {
        out[0] = '/';
        c.length = c.fixed = 1;
    }
    while (at < end) {
        uint32_t begin = at;
        while (at < end && path[at] != '/')
            at++;
        if (at > begin)
            add_or_drop_part(&c, path + begin, at - begin, absolute);
        at++;
    }
    if (end && !c.length)
        out[c.length++] = '.';
    out[c.length] = 0;
    return c.length + 1;
}
