/* See btf.h.  Source of the format: Linux Documentation/bpf/btf.rst. */
#include "tracer/btf.h"

#include <errno.h>
#include <string.h>

enum { MAGIC = 0xeB9F, TYPE_SIZE = 12, KIND_FUNC = 12 };

struct header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t header_size, types, types_size, strings, strings_size;
};

/* Bytes behind a type of this kind with so many members, or -1 for a kind that is not known. */
static int64_t behind(uint32_t kind, uint32_t members)
{
    static const int8_t fixed[20] = {-1, 4, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 4, 0, 0};
    static const int8_t each[20] = {[4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12};
    return kind < 20 && fixed[kind] >= 0 ? fixed[kind] + (int64_t)each[kind] * members : -1;
}

int64_t pyusdt_btf_function(const uint8_t *btf, size_t size, const char *name)
{
    struct header h;
    if (size < sizeof h)
        return -EINVAL;
    memcpy(&h, btf, sizeof h);
    uint64_t types = (uint64_t)h.header_size + h.types, strings = (uint64_t)h.header_size + h.strings;
    if (h.magic != MAGIC || types + h.types_size > size || strings + h.strings_size > size)
        return -EINVAL;
    size_t length = strlen(name) + 1;
    uint64_t at = types, end = types + h.types_size;
    for (int64_t id = 1; at + TYPE_SIZE <= end; id++) {
        uint32_t text, info;
        memcpy(&text, btf + at, 4);
        memcpy(&info, btf + at + 4, 4);
        uint32_t kind = info >> 24 & 31;
        if (kind == KIND_FUNC && (uint64_t)text + length <= h.strings_size &&
            memcmp(btf + strings + text, name, length) == 0)
            return id;
        int64_t more = behind(kind, info & 0xffff);
        if (more < 0)
            return -EINVAL;
        at += TYPE_SIZE + (uint64_t)more;
    }
    return -ENOENT;
}
