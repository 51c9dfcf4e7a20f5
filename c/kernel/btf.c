/* See btf.h.  Source of the format: Linux Documentation/bpf/btf.rst. */
#include "kernel/btf.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
    MAGIC = 0xeB9F,
    TYPE_SIZE = 12,
    MEMBER_SIZE = 12,
    KIND_STRUCT = 4,
    KIND_UNION = 5,
    KIND_ENUM = 6,
    KIND_FUNC = 12,
    KIND_ENUM64 = 19,
    DEEPEST = 4
};

struct header {
    uint16_t magic;
    uint8_t version, flags;
    uint32_t header_size, types, types_size, strings, strings_size;
};

/* Bytes behind a type of this kind with so many members, or -1 for a kind that is not known. */
static int64_t extra_size(uint32_t kind, uint32_t members)
{
    static const int8_t fixed[20] = {-1, 4, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 4, 0, 0};
    static const int8_t each[20] = {[4] = 12, [5] = 12, [6] = 8, [13] = 8, [15] = 12, [19] = 12};
    return kind < 20 && fixed[kind] >= 0 ? fixed[kind] + (int64_t)each[kind] * members : -1;
}

struct reading {
    const uint8_t *data;
    uint64_t types, end;            /* of the types */
    uint64_t strings, strings_size; /* of the names */
};

static int open_btf(struct reading *r, const uint8_t *btf, size_t size)
{
    struct header h;
    if (size < sizeof h)
        return -EINVAL;
    memcpy(&h, btf, sizeof h);
    r->data = btf;
    r->types = (uint64_t)h.header_size + h.types;
    r->end = r->types + h.types_size;
    r->strings = (uint64_t)h.header_size + h.strings;
    r->strings_size = h.strings_size;
    return h.magic != MAGIC || r->end > size || r->strings + h.strings_size > size ? -EINVAL : 0;
}

static uint32_t read_word(const struct reading *r, uint64_t at)
{
    uint32_t value;
    memcpy(&value, r->data + at, sizeof value);
    return value;
}

static bool is_named(const struct reading *r, uint32_t text, const char *name)
{
    size_t length = strlen(name) + 1;
    return (uint64_t)text + length <= r->strings_size &&
           memcmp(r->data + r->strings + text, name, length) == 0;
}

static uint32_t kind_of(const struct reading *r, uint64_t at)
{
    return read_word(r, at + 4) >> 24 & 31;
}

/* A type on the way through all of them: its id, and where it is. */
struct type {
    int64_t id;
    uint64_t at;
};

static struct type first_type(const struct reading *r)
{
    return (struct type){1, r->types};
}

/* 0 if there is a type here, else -ENOENT. */
static int check_type(const struct reading *r, const struct type *type)
{
    return type->at + TYPE_SIZE <= r->end ? 0 : -ENOENT;
}

/* On to the next; -EINVAL if this one's kind, and so its size, is not known. */
static int next_type(const struct reading *r, struct type *type)
{
    int64_t more = extra_size(kind_of(r, type->at), read_word(r, type->at + 4) & 0xffff);

    if (more < 0)
        return -EINVAL;
    type->at += TYPE_SIZE + (uint64_t)more;
    type->id++;
    return check_type(r, type);
}

/* A type is looked for by its kind and name, or, where there is no name, by its id. */
struct wanted {
    uint32_t kind;
    const char *name;
    uint32_t id;
};

static bool is_wanted(const struct reading *r, const struct type *type, const struct wanted *want)
{
    if (want->name == NULL)
        return type->id == want->id;
    return kind_of(r, type->at) == want->kind && is_named(r, read_word(r, type->at), want->name);
}

/* 0, -ENOENT or -EINVAL. */
static int find_type(const struct reading *r, struct wanted want, struct type *type)
{
    int code;

    *type = first_type(r);
    for (code = check_type(r, type); code == 0; code = next_type(r, type))
        if (is_wanted(r, type, &want))
            break;
    return code;
}

static int open_at(struct reading *r, const uint8_t *btf, size_t size, struct wanted want,
                   struct type *type)
{
    int code = open_btf(r, btf, size);

    return code < 0 ? code : find_type(r, want, type);
}

int64_t pyusdt_btf_find(const uint8_t *btf, size_t size, uint32_t kind, const char *name)
{
    struct reading r;
    struct type type;
    int code = open_at(&r, btf, size, (struct wanted){.kind = kind, .name = name}, &type);

    return code < 0 ? code : type.id;
}

int64_t pyusdt_btf_function(const uint8_t *btf, size_t size, const char *name)
{
    return pyusdt_btf_find(btf, size, KIND_FUNC, name);
}

int64_t pyusdt_btf_type_offsets(const uint8_t *btf, size_t size, uint32_t *places, size_t room)
{
    struct reading r;
    struct type type;
    int64_t found = 0;
    int code = open_btf(&r, btf, size);

    if (code < 0)
        return code;
    type = first_type(&r);
    for (code = check_type(&r, &type); code == 0; code = next_type(&r, &type)) {
        if ((size_t)found < room)
            places[found] = (uint32_t)type.at;
        found++;
    }
    return code == -ENOENT ? found : code;
}

/* The member of the struct or union at `at`, or of one without a name in it. */
static int64_t member_of(const struct reading *r, uint64_t at, const char *member, int depth)
{
    uint32_t info = read_word(r, at + 4), members = info & 0xffff, kind = kind_of(r, at);
    uint32_t mask = info >> 31
                        ? 0xffffff
                        : 0xffffffff; /* where there are bit-fields, the upper byte is a width */
    if ((kind != KIND_STRUCT && kind != KIND_UNION) || depth == DEEPEST)
        return -ENOENT;
    for (at += TYPE_SIZE; members > 0 && at + MEMBER_SIZE <= r->end; members--, at += MEMBER_SIZE) {
        int64_t offset = (read_word(r, at + 8) & mask) / 8, inside;
        struct type type;
        if (is_named(r, read_word(r, at), member))
            return offset;
        if (is_named(r, read_word(r, at), "") &&
            find_type(r, (struct wanted){.id = read_word(r, at + 4)}, &type) == 0) {
            inside = member_of(r, type.at, member, depth + 1);
            if (inside >= 0)
                return offset + inside;
        }
    }
    return -ENOENT;
}

int64_t pyusdt_btf_member(const uint8_t *btf, size_t size, const char *structure,
                          const char *member)
{
    struct reading r;
    struct type type;
    int code =
        open_at(&r, btf, size, (struct wanted){.kind = KIND_STRUCT, .name = structure}, &type);

    return code < 0 ? code : member_of(&r, type.at, member, 0);
}

int64_t pyusdt_btf_size(const uint8_t *btf, size_t size, const char *structure)
{
    struct reading r;
    struct type type;
    int code =
        open_at(&r, btf, size, (struct wanted){.kind = KIND_STRUCT, .name = structure}, &type);

    return code < 0 ? code : (int64_t)read_word(&r, type.at + 8);
}

/* The value of the enumerator at `at`, by its type's kind and whether that is signed. */
static int64_t enumerator_value(const struct reading *r, uint64_t at, uint32_t kind, bool is_signed)
{
    uint32_t low = read_word(r, at + 4);

    if (kind == KIND_ENUM64)
        return (int64_t)((uint64_t)read_word(r, at + 8) << 32 | low);
    return is_signed ? (int64_t)(int32_t)low : (int64_t)low;
}

/* An enumerator that is looked for: found once it was seen, with its value. */
struct enumerator {
    const char *name;
    bool found;
    int64_t value;
};

/* Look through the enumeration at `at`.  0, or -EEXIST where it has the name with another value than was found before. */
static int look_through(const struct reading *r, uint64_t at, struct enumerator *wanted)
{
    uint32_t info = read_word(r, at + 4), kind = kind_of(r, at), left = info & 0xffff,
             step = kind == KIND_ENUM64 ? 12 : 8;

    for (at += TYPE_SIZE; left > 0 && at + step <= r->end; left--, at += step) {
        int64_t value;
        if (!is_named(r, read_word(r, at), wanted->name))
            continue;
        value = enumerator_value(r, at, kind, info >> 31);
        if (wanted->found && wanted->value != value)
            return -EEXIST;
        wanted->found = true;
        wanted->value = value;
    }
    return 0;
}

int pyusdt_btf_enumerator(const uint8_t *btf, size_t size, const char *name, int64_t *value)
{
    struct enumerator wanted = {.name = name};
    struct reading r;
    struct type type;
    int code = open_btf(&r, btf, size);

    if (code < 0)
        return code;
    type = first_type(&r);
    for (code = check_type(&r, &type); code == 0; code = next_type(&r, &type)) {
        uint32_t kind = kind_of(&r, type.at);
        if ((kind == KIND_ENUM || kind == KIND_ENUM64) && look_through(&r, type.at, &wanted) < 0)
            return -EEXIST;
    }
    *value = wanted.value;
    return code != -ENOENT ? code : wanted.found ? 0 : -ENOENT;
}
