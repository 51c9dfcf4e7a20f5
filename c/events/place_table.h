/*
 * Code locations of a target (include/pyusdt.h, "places"): module, function, file and line by
 * number.
 *
 * - The tracer has private copies, from the process's shared table (layout.h) or from a recording,
 *   and checks them when it makes them.
 * - Numbers are 1, 2, … without a hole; a known location stays; names are NUL-terminated and no
 *   longer than they may be.
 */
#ifndef PYUSDT_EVENTS_PLACE_TABLE_H
#define PYUSDT_EVENTS_PLACE_TABLE_H

#include <stdbool.h>

#include "events/event.h"
#include "shared/layout.h"

#pragma GCC visibility push(hidden)

struct pyusdt_places {
    struct pyusdt_ctl_place *place; /* offsets into text */
    uint32_t n, room;
    char *text;
    uint32_t ntext, text_room;
};

struct pyusdt_place_info {
    const char *module, *function, *file; /* until a place is added */
    uint32_t line;
};

/* The table of a file of that size whose header was checked otherwise; NULL: it has none. */
const struct pyusdt_ctl_places *
pyusdt_places_shared(const void *file, const struct pyusdt_ctl_header *header, uint64_t size);

/* Behind those that there are. 0; -ENOMEM; -ENOSPC: there cannot be so many. */
int pyusdt_places_add(struct pyusdt_places *places, const struct pyusdt_place_info *info);
/* Those of the shared table, as far as it says that they are whole. */
int pyusdt_places_copy(struct pyusdt_places *places, const struct pyusdt_ctl_places *shared,
                       uint32_t nplaces);
bool pyusdt_places_get(const struct pyusdt_places *places, uint32_t number,
                       struct pyusdt_place_info *info);
/* Calls fn with the probe at each of its code locations that are known, if it has such. */
int pyusdt_places_list(const struct pyusdt_places *places, const struct pyusdt_target_info *target,
                       const struct pyusdt_probe_info *probe, pyusdt_list_fn *fn, void *arg);
size_t pyusdt_places_memory(const struct pyusdt_places *places); /* bytes */
void pyusdt_places_free(struct pyusdt_places *places);

#pragma GCC visibility pop

#endif
