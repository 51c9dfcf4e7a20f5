/* The hash maps against a list that is searched from end to end.
 *
 *     map_model SECONDS SEED
 *
 * Random updates (all flags), lookups, deletions, iterations with deletion of what was returned, and
 * clearings, with keys from a small set so that all of them meet, many with a tail of zeros of any
 * length, one of nothing else; key and value sizes that are and are not multiples of 8; up to 3000 entries, so that the buckets double several times. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "bpf/map.h"

enum { ENTRIES = 3000, KEY = 72, VALUE = 24 };

static struct {
    bool live;
    uint8_t value[VALUE];
} model[ENTRIES * 2]; /* by key number */
static uint32_t live;
static struct pyusdt_map map;
static unsigned long operations;

static void check(bool right, const char *what)
{
    if (right)
        return;
    fprintf(stderr, "%s, in operation %lu\n", what, operations);
    abort();
}

/* All zeros, or an odd number's bytes, the lowest one last, with zeros before and behind them. */
static void make_key(uint8_t *key, uint32_t number)
{
    uint32_t size = map.def.key_size, code = number ? 2 * number + 1 : 0, used = 0;
    while (code >> 8 * used)
        used++;
    uint32_t tail = number % (size - used + 1);
    memset(key, 0, size);
    for (uint32_t i = 0; i < used; i++)
        key[size - 1 - tail - i] = (uint8_t)(code >> 8 * i);
}

static uint32_t key_number(const uint8_t *key)
{
    uint32_t at = map.def.key_size, code = 0;
    while (at > 0 && key[at - 1] == 0)
        at--;
    for (uint32_t i = 0; i < 4 && at > 0; i++)
        code |= (uint32_t)key[--at] << 8 * i;
    return code / 2;
}

static void update(const uint8_t *key, uint32_t number)
{
    uint64_t flags = below(4);
    uint8_t value[VALUE];
    for (int i = 0; i < VALUE; i++)
        value[i] = (uint8_t)random64();
    bool there = model[number].live;
    int expected = flags == 3                          ? -EINVAL
                   : there && flags == 1               ? -EEXIST
                   : !there && flags == 2              ? -ENOENT
                   : !there && live == map.def.entries ? -E2BIG
                                                       : 0;
    check(pyusdt_map_update(&map, key, value, flags) == expected, "update's result");
    if (expected == 0) {
        live += !there;
        model[number].live = true;
        memcpy(model[number].value, value, VALUE);
    }
}

static void iterate(bool deleting)
{
    uint32_t cursor = 0, seen = 0;
    const void *key;
    void *value;
    uint32_t before = live;
    while (pyusdt_map_next(&map, &cursor, &key, &value)) {
        uint32_t number = key_number(key);
        seen++;
        check(model[number].live && !memcmp(value, model[number].value, map.def.value_size),
              "iteration's value");
        if (deleting && below(2)) {
            uint8_t copy[KEY];
            memcpy(copy, key, map.def.key_size);
            check(pyusdt_map_delete(&map, copy) == 0, "deletion while iterating");
            model[number].live = false;
            live--;
        }
    }
    check(seen == before, "iteration's count");
}

static void operate(uint32_t numbers)
{
    uint8_t key[KEY];
    uint32_t number = below(numbers), kind = below(1000);
    make_key(key, number);
    if (kind < 500) {
        update(key, number);
    } else if (kind < 750) {
        const uint8_t *value = pyusdt_map_lookup(&map, key);
        check(!value == !model[number].live, "lookup's result");
        check(!value || !memcmp(value, model[number].value, map.def.value_size), "lookup's value");
    } else if (kind < 998) {
        check(pyusdt_map_delete(&map, key) == (model[number].live ? 0 : -ENOENT),
              "delete's result");
        live -= model[number].live;
        model[number].live = false;
    } else if (kind < 999 || below(10)) {
        iterate(below(2));
    } else {
        pyusdt_map_clear(&map);
        memset(model, 0, sizeof model);
        live = 0;
    }
    check(map.count == live, "count");
}

int main(int argc, char **argv)
{
    static const uint32_t keys[] = {1, 3, 4, 8, 12, 16, 31, 40, 64, 72}, values[] = {1, 8, 12, 24};
    if (argc != 3)
        return 2;
    time_t end = time(NULL) + atoi(argv[1]);
    random_state = strtoull(argv[2], NULL, 0) * 2 + 1;
    for (unsigned round = 0; round < 2 || time(NULL) < end; round++) {
        uint32_t entries = round % 2 ? ENTRIES : 1 + below(20);
        struct pyusdt_map_def def = {PYUSDT_MAP_HASH, keys[below(10)], values[below(4)], entries};
        uint32_t numbers = entries * 2;
        if (def.key_size == 1 && numbers > 128)
            numbers = 128;
        check(pyusdt_map_init(&map, &def, random64(), NULL) == 0, "init");
        memset(model, 0, sizeof model);
        live = 0;
        for (int i = 0; i < 20000; i++, operations++)
            operate(numbers);
        pyusdt_map_destroy(&map);
    }
    printf("%lu operations\n", operations);
    return 0;
}
