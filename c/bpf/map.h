/*
 * Maps of the interpreter: arrays and hash tables of fixed-size keys and values.
 *
 * - A value's address does not change while its element lives.
 * - Values have one arena of their own, [values, values_end), so a program that writes values
 *   cannot reach keys or links.
 * - Nothing is allocated after pyusdt_map_init(): it reserves the address space for all entries,
 *   and the kernel gives pages as they are touched.
 */
#ifndef PYUSDT_BPF_MAP_H
#define PYUSDT_BPF_MAP_H

#include <stdbool.h>

#include "bpf/vm_types.h"
#include "shared/error.h"

#define PYUSDT_MAP_NONE UINT32_MAX

struct pyusdt_map {
    struct pyusdt_map_def def;
    bool hashed;
    uint32_t stride; /* bytes from one value to the next: value_size rounded up to 8 */
    uint8_t *values;
    uint8_t *values_end; /* arrays: of the last element; hashes: of the highest slot ever used */
    /* hashes: */
    uint8_t *nodes; /* struct node and key, one a slot */
    uint32_t node_size;
    uint32_t *buckets; /* slot + 1 of the first element of each chain, 0: empty */
    uint32_t mask;     /* buckets in use - 1; doubles as the map fills */
    uint32_t used;     /* slots ever used */
    uint32_t free;     /* slot + 1 of the first deleted one, 0: none */
    uint32_t count;
    uint32_t
        found; /* slot of the key that was looked up last, where it was there: often the next one's, too */
    uint64_t seed;
};

int pyusdt_map_init(struct pyusdt_map *map, const struct pyusdt_map_def *def, uint64_t seed,
                    struct pyusdt_error *err);
void pyusdt_map_destroy(struct pyusdt_map *map);

/* Of an array: the element's value, or NULL. */
static inline uint8_t *pyusdt_map_element(const struct pyusdt_map *map, uint32_t index)
{
    return index < map->def.entries ? map->values + (uint64_t)index * map->stride : NULL;
}

uint8_t *pyusdt_map_lookup(struct pyusdt_map *map, const void *key); /* the value, or NULL */
int pyusdt_map_update(struct pyusdt_map *map, const void *key, const void *value, uint64_t flags);
int pyusdt_map_delete(struct pyusdt_map *map, const void *key);
bool pyusdt_map_next(struct pyusdt_map *map, uint32_t *cursor, const void **key, void **value);
void pyusdt_map_clear(struct pyusdt_map *map);

#endif
