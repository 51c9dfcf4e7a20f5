/* See code_identities.h. */
#include "pystack/code_identities.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    LENGTH = 8,          /* bytes of a name's length in an identity */
    CHECKED = 1 << 11,   /* code objects in one check */
    FIRST_SLOTS = 1 << 8 /* a power of two */
};

/* A code object whose identity is known. */
struct known {
    uint64_t code;
    uint32_t turn;  /* of the check that it was added to last */
    uint32_t place; /* in that */
    struct pyusdt_code_identity identity;
};

struct pyusdt_identities {
    struct pyusdt_memory memory;
    uint32_t low, record;         /* where the pointers begin in a code object; bytes from there */
    uint32_t name, length, state; /* the offsets of a code's name, and in a str */
    uint32_t ascii, other;        /* of a str's characters */

    struct known **known;
    uint32_t nknown, room;
    uint32_t *slots; /* numbers of known ones, from 1 on */
    uint32_t nslots;

    uint32_t turn, nadded;
    struct known *added[CHECKED];
    bool same[CHECKED];
    uint8_t *bytes; /* that a check reads */
    size_t nbytes;
};

static uint64_t word_at(const uint8_t *bytes, uint32_t offset)
{
    uint64_t value;

    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* ---- one identity ---- */

/* Bytes of a name's object to read: its page may be the last one. */
static uint32_t head_size(const struct pyusdt_identities *ids, uint64_t at)
{
    uint32_t page = PAGE - (uint32_t)(at % PAGE);

    return max_u32(min_u32(PYUSDT_IDENTITY_NAME, page), ids->other);
}

/* The rest of the name's head changes (references, hash, whether it is interned). */
static void make_identity(const struct pyusdt_identities *ids, const uint8_t *record,
                          const uint8_t *head, uint32_t size, struct pyusdt_code_identity *out)
{
    uint8_t state = head[ids->state];
    uint64_t length = word_at(head, ids->length);
    uint32_t begin = (state >> 5 & 3) == 3 ? ids->ascii : ids->other;
    uint64_t text =
        (length < PYUSDT_IDENTITY_NAME ? length : PYUSDT_IDENTITY_NAME) * (state >> 2 & 7);

    text = begin >= size ? 0 : text < size - begin ? text : size - begin;
    out->name = word_at(record, ids->name);
    memcpy(out->bytes, record, ids->record);
    memcpy(out->bytes + ids->record, &length, LENGTH);
    memcpy(out->bytes + ids->record + LENGTH, head + begin, text);
    out->size = (uint16_t)(ids->record + LENGTH + text);
}

static int reserve_bytes(struct pyusdt_identities *ids, size_t size)
{
    uint8_t *grown;

    if (size <= ids->nbytes)
        return 0;
    grown = realloc(ids->bytes, size);
    if (!grown)
        return -ENOMEM;
    ids->bytes = grown;
    ids->nbytes = size;
    return 0;
}

/* At most CHECKED. */
static int read_some(struct pyusdt_identities *ids, const uint64_t *codes, size_t n,
                     struct pyusdt_code_identity *found)
{
    size_t row = ids->record + (size_t)PYUSDT_IDENTITY_MAX;
    struct pyusdt_memory_part parts[CHECKED];
    bool read[CHECKED], named[CHECKED];
    int r = reserve_bytes(ids, n * row);

    if (r)
        return r;
    for (size_t i = 0; i < n; i++)
        parts[i] =
            (struct pyusdt_memory_part){codes[i] + ids->low, ids->bytes + i * row, ids->record};
    pyusdt_memory_read_each(&ids->memory, parts, n, read);
    for (size_t i = 0; i < n; i++) {
        uint64_t name = read[i] ? word_at(ids->bytes + i * row, ids->name) : 0;
        parts[i] = (struct pyusdt_memory_part){name, ids->bytes + i * row + ids->record,
                                               head_size(ids, name)};
    }
    pyusdt_memory_read_each(&ids->memory, parts, n, named);
    for (size_t i = 0; i < n; i++) {
        found[i].size = 0;
        if (read[i] && named[i])
            make_identity(ids, ids->bytes + i * row, ids->bytes + i * row + ids->record,
                          (uint32_t)parts[i].size, &found[i]);
    }
    return 0;
}

int pyusdt_identities_read(struct pyusdt_identities *ids, const uint64_t *codes, size_t n,
                           struct pyusdt_code_identity *found)
{
    for (size_t from = 0; from < n; from += CHECKED) {
        size_t size = n - from < CHECKED ? n - from : CHECKED;
        int r = read_some(ids, codes + from, size, found + from);

        if (r)
            return r;
    }
    return 0;
}

/* ---- those that are known ---- */

static uint32_t slot_of(const struct pyusdt_identities *ids, uint64_t code)
{
    uint32_t at = (uint32_t)((code >> 4) * 0x9e3779b97f4a7c15u >> 32) & (ids->nslots - 1);

    while (ids->slots[at] && ids->known[ids->slots[at] - 1]->code != code)
        at = (at + 1) & (ids->nslots - 1);
    return at;
}

static struct known *find_known(const struct pyusdt_identities *ids, uint64_t code)
{
    uint32_t number = ids->slots[slot_of(ids, code)];

    return number ? ids->known[number - 1] : NULL;
}

static int grow_slots(struct pyusdt_identities *ids)
{
    uint32_t *slots = calloc(2 * (size_t)ids->nslots, sizeof *slots);

    if (!slots)
        return -ENOMEM;
    free(ids->slots);
    ids->slots = slots;
    ids->nslots *= 2;
    for (uint32_t i = 0; i < ids->nknown; i++)
        ids->slots[slot_of(ids, ids->known[i]->code)] = i + 1;
    return 0;
}

static int add_known(struct pyusdt_identities *ids, uint64_t code, struct known **out)
{
    if (ids->nknown == PYUSDT_IDENTITIES_KNOWN)
        return -ENOSPC;
    if (2 * ids->nknown >= ids->nslots && grow_slots(ids))
        return -ENOMEM;
    if (ids->nknown == ids->room) {
        uint32_t room = ids->room ? 2 * ids->room : FIRST_SLOTS;
        struct known **grown = realloc(ids->known, room * sizeof *grown);

        if (!grown)
            return -ENOMEM;
        ids->known = grown;
        ids->room = room;
    }
    *out = calloc(1, sizeof **out);
    if (!*out)
        return -ENOMEM;
    (*out)->code = code;
    ids->slots[slot_of(ids, code)] = ids->nknown + 1;
    ids->known[ids->nknown++] = *out;
    return 0;
}

int pyusdt_identities_confirm(struct pyusdt_identities *ids, uint64_t code, const uint8_t *bytes,
                              size_t size)
{
    struct known *known = find_known(ids, code);
    int r = 0;

    if (size < ids->record + LENGTH || size > PYUSDT_IDENTITY_MAX)
        return -EINVAL;
    if (!known)
        r = add_known(ids, code, &known);
    if (r)
        return r;
    memcpy(known->identity.bytes, bytes, size);
    known->identity.size = (uint16_t)size;
    known->identity.name = word_at(bytes, ids->name);
    return 0;
}

void pyusdt_identities_forget(struct pyusdt_identities *ids, uint64_t code)
{
    struct known *known = find_known(ids, code);

    if (known)
        known->identity.size = 0;
}

void pyusdt_identities_forget_all(struct pyusdt_identities *ids)
{
    for (uint32_t i = 0; i < ids->nknown; i++)
        free(ids->known[i]);
    memset(ids->slots, 0, ids->nslots * sizeof *ids->slots);
    ids->nknown = ids->nadded = 0;
}

/* ---- a check ---- */

void pyusdt_identities_begin(struct pyusdt_identities *ids)
{
    ids->turn++;
    ids->nadded = 0;
}

bool pyusdt_identities_add(struct pyusdt_identities *ids, uint64_t code)
{
    struct known *known = find_known(ids, code);

    if (!known || known->identity.size == 0)
        return false;
    if (known->turn == ids->turn)
        return true;
    if (ids->nadded == CHECKED)
        return false;
    known->turn = ids->turn;
    known->place = ids->nadded;
    ids->added[ids->nadded++] = known;
    return true;
}

void pyusdt_identities_check(struct pyusdt_identities *ids)
{
    size_t row = ids->record + (size_t)PYUSDT_IDENTITY_MAX, n = ids->nadded;
    struct pyusdt_memory_part parts[2 * CHECKED];
    bool read[2 * CHECKED];
    struct pyusdt_code_identity now;

    memset(ids->same, 0, sizeof ids->same);
    if (reserve_bytes(ids, n * row))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct known *known = ids->added[i];
        uint8_t *to = ids->bytes + i * row;

        parts[2 * i] = (struct pyusdt_memory_part){known->code + ids->low, to, ids->record};
        parts[2 * i + 1] = (struct pyusdt_memory_part){known->identity.name, to + ids->record,
                                                       head_size(ids, known->identity.name)};
    }
    pyusdt_memory_read_each(&ids->memory, parts, 2 * n, read);
    for (size_t i = 0; i < n; i++) {
        const struct pyusdt_code_identity *before = &ids->added[i]->identity;

        if (!read[2 * i] || !read[2 * i + 1])
            continue;
        make_identity(ids, parts[2 * i].to, parts[2 * i + 1].to, (uint32_t)parts[2 * i + 1].size,
                      &now);
        ids->same[i] = now.size == before->size && memcmp(now.bytes, before->bytes, now.size) == 0;
    }
}

bool pyusdt_identities_is_same(const struct pyusdt_identities *ids, uint64_t code)
{
    const struct known *known = find_known(ids, code);

    return known && known->turn == ids->turn && ids->same[known->place];
}

/* ---- making one ---- */

/* The process is untrusted. */
static bool set_offsets(struct pyusdt_identities *ids, const struct pyusdt_python_layout *layout)
{
    uint32_t name = layout->code_qualname ? layout->code_qualname : layout->code_name;

    ids->low = min_u32(name, min_u32(layout->code_filename, layout->code_linetable));
    /* not more than the object has: its memory may end behind it */
    ids->record = 8 - ids->low +
                  max_u32(max_u32(name, layout->code_filename),
                          max_u32(max_u32(layout->code_linetable, layout->code_firstlineno),
                                  layout->bytes_size));
    ids->name = name - ids->low;
    ids->length = layout->unicode_length;
    ids->state = layout->unicode_state;
    ids->ascii = layout->unicode_ascii_data;
    ids->other = layout->unicode_data;
    return ids->record + LENGTH + PYUSDT_IDENTITY_NAME <= PYUSDT_IDENTITY_MAX &&
           ids->other <= PYUSDT_IDENTITY_NAME && ids->ascii <= ids->other &&
           ids->length + 8 <= ids->ascii && ids->state < ids->ascii;
}

struct pyusdt_identities *pyusdt_identities_new(const struct pyusdt_memory *memory,
                                                const struct pyusdt_python_layout *layout)
{
    struct pyusdt_identities *ids = calloc(1, sizeof *ids);

    if (!ids)
        return NULL;
    ids->memory = *memory;
    ids->nslots = FIRST_SLOTS;
    ids->slots = calloc(ids->nslots, sizeof *ids->slots);
    if (ids->slots && set_offsets(ids, layout))
        return ids;
    pyusdt_identities_free(ids);
    return NULL;
}

void pyusdt_identities_free(struct pyusdt_identities *ids)
{
    if (!ids)
        return;
    for (uint32_t i = 0; i < ids->nknown; i++)
        free(ids->known[i]);
    free(ids->known);
    free(ids->slots);
    free(ids->bytes);
    free(ids);
}
