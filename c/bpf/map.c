/* Maps of the interpreter: see map.h. */
#define _GNU_SOURCE
#include "bpf/map.h"

#include <errno.h>
#include <string.h>

#include "shared/os.h"

/* What an element of a hash has besides its value; the key follows. */
struct node {
    uint32_t next; /* slot + 1 of the chain's, or the free list's, next element; 0: the last */
    uint32_t hash; /* with LIVE set; 0: deleted */
    uint64_t used; /* bytes of the key before its zero tail */
};
#define LIVE 0x80000000u
#define FIRST_BUCKETS 256u
#define MAX_BYTES ((uint64_t)1 << 40) /* of one arena */

enum { ANY, NOEXIST, EXIST }; /* update's flags, Linux's numbers */

static void *reserve(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t round8(uint64_t n)
{
    return (n + 7) & ~(uint64_t)7;
}

static uint64_t max_buckets(uint32_t entries)
{
    uint64_t n = FIRST_BUCKETS;
    while (n < entries)
        n *= 2;
    return n;
}

static bool kind_hashed(uint32_t kind)
{
    switch (kind) {
#define X(name, number, hashed) \
    case number: \
        return hashed;
        PYUSDT_BPF_MAP_KINDS(X)
#undef X
    }
    return false;
}

static const char *check_def(const struct pyusdt_map_def *def)
{
    switch (def->kind) {
    case PYUSDT_MAP_RINGBUF:
        return def->key_size || def->value_size ? "a ringbuf has neither keys nor values" : NULL;
    case PYUSDT_MAP_ARRAY:
    case PYUSDT_MAP_PERCPU_ARRAY:
        if (def->key_size != 4)
            return "an array's key has 4 bytes";
        break;
    case PYUSDT_MAP_HASH:
    case PYUSDT_MAP_PERCPU_HASH:
        if (def->key_size == 0 || def->key_size > 1u << 20)
            return "key size out of range";
        break;
    default:
        return "unknown kind";
    }
    if (def->value_size == 0 || def->value_size > 1u << 30)
        return "value size out of range";
    if (def->entries == 0 || def->entries >= LIVE)
        return "number of entries out of range";
    if (def->entries * round8(def->value_size) > MAX_BYTES)
        return "too large";
    return NULL;
}

int pyusdt_map_init(struct pyusdt_map *map, const struct pyusdt_map_def *def, uint64_t seed,
                    struct pyusdt_error *err)
{
    memset(map, 0, sizeof *map);
    const char *wrong = check_def(def);
    if (wrong)
        return pyusdt_error_set(err, -EINVAL, "%s", wrong);
    map->def = *def;
    if (def->kind == PYUSDT_MAP_RINGBUF)
        return 0;
    map->hashed = kind_hashed(def->kind);
    map->stride = (uint32_t)round8(def->value_size);
    map->values = reserve((uint64_t)def->entries * map->stride);
    if (!map->values)
        goto no_memory;
    map->values_end = map->values + (map->hashed ? 0 : (uint64_t)def->entries * map->stride);
    if (!map->hashed)
        return 0;
    map->seed = seed;
    map->mask = FIRST_BUCKETS - 1;
    map->node_size = (uint32_t)round8(sizeof(struct node) + def->key_size);
    map->nodes = reserve((uint64_t)def->entries * map->node_size);
    map->buckets = reserve(max_buckets(def->entries) * sizeof *map->buckets);
    if (map->nodes && map->buckets)
        return 0;
no_memory:
    pyusdt_map_destroy(map);
    return pyusdt_error_set(err, -ENOMEM, "no address space for %u entries", def->entries);
}

void pyusdt_map_destroy(struct pyusdt_map *map)
{
    if (map->values)
        munmap(map->values, (uint64_t)map->def.entries * map->stride);
    if (map->nodes)
        munmap(map->nodes, (uint64_t)map->def.entries * map->node_size);
    if (map->buckets)
        munmap(map->buckets, max_buckets(map->def.entries) * sizeof *map->buckets);
    memset(map, 0, sizeof *map);
}

/* --- hashing ------------------------------------------------------------------------------------ */

static inline uint64_t word(const uint8_t *p)
{
    uint64_t w;
    memcpy(&w, p, 8);
    return w;
}

/* The 128-bit product's halves, folded into one word. */
static inline uint64_t fold(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#else /* 32-bit machines: mixes as well, from two 64-bit products */
    uint64_t low = (a ^ (b >> 32)) * 0x9fb21c651e98df25,
             high = (b ^ (a >> 32)) * 0xff51afd7ed558ccd;
    return low ^ (high >> 29) ^ (high << 35);
#endif
}

/* Bytes of the key before its tail of zeros, which strings have: only they are hashed and compared. */
static inline uint32_t used_of(const uint8_t *key, uint32_t size)
{
    uint32_t used = size & ~7u;
    uint64_t last = 0;

    memcpy(&last, key + used, size - used);
    if (last)
        return size;
    while (used >= 32 && !(word(key + used - 8) | word(key + used - 16) | word(key + used - 24) |
                           word(key + used - 32)))
        used -= 32;
    while (used && !word(key + used - 8))
        used -= 8;
    return used;
}

/* Keyed by the map's random seed, so that an attacker who chooses keys cannot choose chains.  Two
 * lanes, because one multiplication has to wait for the other's result only every 32 bytes. */
static uint32_t hash_key(const struct pyusdt_map *map, const uint8_t *key, uint32_t size)
{
    const uint64_t c1 = 0x9e3779b97f4a7c15, c2 = 0xd6e8feb86659fd93, c3 = 0xa0761d6478bd642f;
    uint64_t a = map->seed, b = map->seed ^ c3;
    for (; size >= 32; size -= 32, key += 32) {
        a = fold(a ^ word(key), c1 ^ word(key + 8));
        b = fold(b ^ word(key + 16), c2 ^ word(key + 24));
    }
    for (; size >= 8; size -= 8, key += 8)
        a = fold(a ^ word(key), c1);
    if (size) {
        uint64_t last = 0;
        memcpy(&last, key, size);
        a = fold(a ^ last, c2);
    }
    return (uint32_t)(fold(a ^ c2, b ^ c1) >> 32) | LIVE;
}

struct key {
    const void *bytes;
    uint32_t used, hash;
};

static inline struct key key_of(const struct pyusdt_map *map, const void *bytes)
{
    uint32_t used = used_of(bytes, map->def.key_size);
    return (struct key){bytes, used, hash_key(map, bytes, used)};
}

static inline struct node *node_at(const struct pyusdt_map *map, uint32_t slot)
{
    return (struct node *)(void *)(map->nodes + (uint64_t)slot * map->node_size);
}

static inline uint8_t *value_at(const struct pyusdt_map *map, uint32_t slot)
{
    return map->values + (uint64_t)slot * map->stride;
}

/* The slot of the key, or PYUSDT_MAP_NONE. */
static uint32_t find_slot(const struct pyusdt_map *map, const struct key *key)
{
    for (uint32_t link = map->buckets[key->hash & map->mask]; link;) {
        const struct node *node = node_at(map, link - 1);
        if (node->hash == key->hash && node->used == key->used &&
            memcmp(node + 1, key->bytes, key->used) == 0)
            return link - 1;
        link = node->next;
    }
    return PYUSDT_MAP_NONE;
}

static void link_in(struct pyusdt_map *map, uint32_t slot)
{
    struct node *node = node_at(map, slot);
    uint32_t *bucket = &map->buckets[node->hash & map->mask];
    node->next = *bucket;
    *bucket = slot + 1;
}

/* Twice the buckets, within what was reserved.  Deleted nodes keep their links of the free list. */
static void spread(struct pyusdt_map *map)
{
    map->mask = map->mask * 2 + 1;
    memset(map->buckets, 0, ((uint64_t)map->mask + 1) * sizeof *map->buckets);
    for (uint32_t slot = 0; slot < map->used; slot++)
        if (node_at(map, slot)->hash)
            link_in(map, slot);
}

static uint32_t take_slot(struct pyusdt_map *map)
{
    if (map->free) {
        uint32_t slot = map->free - 1;
        map->free = node_at(map, slot)->next;
        return slot;
    }
    if (map->used == map->def.entries)
        return PYUSDT_MAP_NONE;
    map->values_end += map->stride;
    return map->used++;
}

static int hash_update(struct pyusdt_map *map, const void *bytes, const void *value, uint64_t flags)
{
    struct key key = key_of(map, bytes);
    uint32_t slot = find_slot(map, &key);
    if (slot != PYUSDT_MAP_NONE && flags == NOEXIST)
        return -EEXIST;
    if (slot == PYUSDT_MAP_NONE) {
        if (flags == EXIST)
            return -ENOENT;
        slot = take_slot(map);
        if (slot == PYUSDT_MAP_NONE)
            return -E2BIG;
        struct node *node = node_at(map, slot);
        node->hash = key.hash;
        node->used = key.used;
        memcpy(node + 1, bytes, map->def.key_size);
        link_in(map, slot);
        if (++map->count > map->mask && map->mask + (uint64_t)1 < max_buckets(map->def.entries))
            spread(map);
    }
    memmove(value_at(map, slot), value,
            map->def.value_size); /* the value may be another element's */
    return 0;
}

static int hash_delete(struct pyusdt_map *map, const void *bytes)
{
    struct key key = key_of(map, bytes);
    uint32_t slot = find_slot(map, &key);
    if (slot == PYUSDT_MAP_NONE)
        return -ENOENT;
    uint32_t *link = &map->buckets[key.hash & map->mask];
    while (*link != slot + 1)
        link = &node_at(map, *link - 1)->next;
    struct node *node = node_at(map, slot);
    *link = node->next;
    node->hash = 0;
    node->next = map->free;
    map->free = slot + 1;
    map->count--;
    return 0;
}

/* --- the interface ------------------------------------------------------------------------------ */

static uint8_t *array_element(const struct pyusdt_map *map, const void *key)
{
    uint32_t index;
    if (!map->values) /* a ringbuf has no elements, and no key to read */
        return NULL;
    memcpy(&index, key, sizeof index);
    return pyusdt_map_element(map, index);
}

/* Whether it is the key that was found last: then it need not be hashed. */
static bool is_found(const struct pyusdt_map *map, const void *key)
{
    const struct node *node = node_at(map, map->found);
    return map->found < map->used && node->hash && memcmp(node + 1, key, map->def.key_size) == 0;
}

uint8_t *pyusdt_map_lookup(struct pyusdt_map *map, const void *key)
{
    if (!map->hashed)
        return array_element(map, key);
    if (is_found(map, key))
        return value_at(map, map->found);
    struct key wanted = key_of(map, key);
    uint32_t slot = find_slot(map, &wanted);
    if (slot == PYUSDT_MAP_NONE)
        return NULL;
    map->found = slot;
    return value_at(map, slot);
}

int pyusdt_map_update(struct pyusdt_map *map, const void *key, const void *value, uint64_t flags)
{
    if (flags > EXIST)
        return -EINVAL;
    if (map->hashed)
        return hash_update(map, key, value, flags);
    uint8_t *element = array_element(map, key);
    if (!element)
        return -E2BIG;
    if (flags == NOEXIST)
        return -EEXIST;
    memmove(element, value, map->def.value_size);
    return 0;
}

int pyusdt_map_delete(struct pyusdt_map *map, const void *key)
{
    return map->hashed ? hash_delete(map, key) : -EINVAL;
}

bool pyusdt_map_next(struct pyusdt_map *map, uint32_t *cursor, const void **key, void **value)
{
    for (; *cursor < map->used; ++*cursor) {
        struct node *node = node_at(map, *cursor);
        if (node->hash) {
            *key = node + 1;
            *value = value_at(map, (*cursor)++);
            return true;
        }
    }
    return false;
}

void pyusdt_map_clear(struct pyusdt_map *map)
{
    if (!map->hashed) {
        if (map->values)
            memset(map->values, 0, (size_t)(map->values_end - map->values));
        return;
    }
    memset(map->buckets, 0, ((uint64_t)map->mask + 1) * sizeof *map->buckets);
    map->values_end = map->values;
    map->used = map->free = map->count = 0;
}
