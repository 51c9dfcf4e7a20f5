/* Places in a target's code: see place_table.h. */
#include "events/place_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START 64u
#define TEXT_MAX \
    (4 * \
     PYUSDT_PLACE_STRINGS) /* a process has each name once; more than this was made to fill the tracer's memory */

const struct pyusdt_ctl_places *
pyusdt_places_shared(const void *file, const struct pyusdt_ctl_header *header, uint64_t size)
{
    if (header->places == 0 || header->places % 8 != 0 || header->places > size ||
        size - header->places < sizeof(struct pyusdt_ctl_places))
        return NULL;
    return (const void *)((const char *)file + header->places);
}

/* Room for so many more, each of that size. */
static bool grow(void *list, uint32_t n, uint32_t *room, uint32_t more, size_t each)
{
    uint32_t larger = *room ? *room : START;
    void *memory;

    if (more <= *room - n)
        return true;
    while (larger - n < more)
        larger *= 2;
    memory = realloc(*(void **)list, larger * each);
    if (!memory)
        return false;
    *(void **)list = memory;
    *room = larger;
    return true;
}

/* That of the place before is not repeated: most of a module's places come one after another. */
static uint32_t put(struct pyusdt_places *places, const char *string, size_t most, uint32_t before)
{
    uint32_t at = places->ntext, length = (uint32_t)strnlen(string, most);

    if (places->n > 0 && strcmp(places->text + before, string) == 0)
        return before;
    memcpy(places->text + at, string, length);
    places->text[at + length] = '\0';
    places->ntext += length + 1;
    return at;
}

/* Where there is no room for more names, places go without. */
int pyusdt_places_add(struct pyusdt_places *places, const struct pyusdt_place_info *info)
{
    static const struct pyusdt_ctl_place none;
    const struct pyusdt_place_info nameless = {"?", "?", "?", info->line};
    const uint32_t most = PYUSDT_PLACE_MODULE + PYUSDT_PLACE_FUNCTION + PYUSDT_PLACE_FILE + 3;
    struct pyusdt_ctl_place place;
    const struct pyusdt_ctl_place *last;

    if (places->n == PYUSDT_MAX_PLACES)
        return -ENOSPC;
    if (!grow(&places->place, places->n, &places->room, 1, sizeof *places->place) ||
        !grow(&places->text, places->ntext, &places->text_room, most, 1))
        return -ENOMEM;
    if (places->ntext > TEXT_MAX)
        info = &nameless;
    last = places->n ? &places->place[places->n - 1] : &none;
    place.module = put(places, info->module, PYUSDT_PLACE_MODULE, last->module);
    place.function = put(places, info->function, PYUSDT_PLACE_FUNCTION, last->function);
    place.file = put(places, info->file, PYUSDT_PLACE_FILE, last->file);
    place.line = info->line;
    places->place[places->n++] = place;
    return 0;
}

/* A string of the process's memory, which it may change meanwhile. */
static void copy_string(const struct pyusdt_ctl_places *shared, uint32_t at, char *to, size_t most)
{
    size_t length = 0;

    if (at < sizeof shared->strings) {
        size_t left = sizeof shared->strings - at;
        length = strnlen(shared->strings + at, left < most ? left : most);
        memcpy(to, shared->strings + at, length);
    }
    to[length] = '\0';
}

int pyusdt_places_copy(struct pyusdt_places *places, const struct pyusdt_ctl_places *shared,
                       uint32_t nplaces)
{
    char module[PYUSDT_PLACE_MODULE + 1], function[PYUSDT_PLACE_FUNCTION + 1],
        file[PYUSDT_PLACE_FILE + 1];
    int r = 0;

    while (r == 0 && places->n < nplaces && places->n < PYUSDT_MAX_PLACES) {
        struct pyusdt_ctl_place place;
        memcpy(&place, &shared->place[places->n], sizeof place);
        copy_string(shared, place.module, module, PYUSDT_PLACE_MODULE);
        copy_string(shared, place.function, function, PYUSDT_PLACE_FUNCTION);
        copy_string(shared, place.file, file, PYUSDT_PLACE_FILE);
        r = pyusdt_places_add(places,
                              &(struct pyusdt_place_info){module, function, file, place.line});
    }
    return r;
}

bool pyusdt_places_get(const struct pyusdt_places *places, uint32_t number,
                       struct pyusdt_place_info *info)
{
    const struct pyusdt_ctl_place *place;

    if (number - 1 >= places->n)
        return false;
    place = &places->place[number - 1];
    *info = (struct pyusdt_place_info){places->text + place->module, places->text + place->function,
                                       places->text + place->file, place->line};
    return true;
}

size_t pyusdt_places_memory(const struct pyusdt_places *places)
{
    return places->room * sizeof *places->place + places->text_room;
}

void pyusdt_places_free(struct pyusdt_places *places)
{
    free(places->place);
    free(places->text);
    *places = (struct pyusdt_places){0};
}

int pyusdt_places_list(const struct pyusdt_places *places, const struct pyusdt_target_info *target,
                       const struct pyusdt_probe_info *probe, pyusdt_list_fn *fn, void *arg)
{
    struct pyusdt_probe_info there = *probe;
    struct pyusdt_place_info place;
    int r = 0;

    there.places = PYUSDT_PLACES_KNOWN;
    for (uint32_t i = 1;
         r == 0 && probe->places == PYUSDT_PLACES_OPEN && pyusdt_places_get(places, i, &place);
         i++) {
        if (PYUSDT_IS_REMARK(place.line))
            continue;
        snprintf(there.module, sizeof there.module, "%s", place.module);
        snprintf(there.function, sizeof there.function, "%s", place.function);
        r = fn(arg, target, &there);
    }
    return r;
}
