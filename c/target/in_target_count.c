/*
 * Counting in the target: a session that wants no more of a place than how often its probe fires there is not sent events.
 *
 * In:  a firing at a place, and what the sessions' patterns say of the place (place_match.c).
 * Out: words in the session's area (struct pyusdt_counts), one for each probe and place, which its tracer takes from there.
 * Always: in doubt an event is fired, which is right for every session: no lock, no pages, no row, a place that is not decided
 * yet. A word is changed by one atomic step, that of this session's tag alone: a thread that comes late changes nothing. The
 * decisions are private; what is in the words can only make counts wrong. docs/internals/ring.md, "Counting", argues it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "shared/os.h"
#include "target/in_target_count.h"
#include "target/spare_stack.h"

#define ROOM_START 512u /* places whose words have pages at first: a page of each row */
#define ROWS_START \
    4u /* that an area has at least, where its session counts: for probes that come later */

/* ---- a session's rows ---- */

void pyusdt_counts_begin(struct pyusdt_slot *slot)
{
    struct pyusdt_counting *counting = &slot->counting;

    for (uint32_t row = 0; row < counting->rows; row++)
        for (uint32_t place = 1; place <= counting->room; place++)
            atomic_store_explicit(pyusdt_count_mode(counting, row, place),
                                  PYUSDT_COUNT_MODE_UNKNOWN, memory_order_relaxed);
    counting->rows = counting->paged = counting->room = 0;
    counting->mapped = PYUSDT_COUNT_ROWS;
    counting->wants_counts = false;
}

/* Before the area is made: afterwards there are no more of them. */
uint32_t pyusdt_counts_end_rows(struct pyusdt_slot *slot)
{
    struct pyusdt_counting *counting = &slot->counting;

    for (counting->mapped = counting->wants_counts ? ROWS_START : 0;
         counting->mapped < counting->rows;)
        counting->mapped *= 2;
    return counting->mapped;
}

uint8_t pyusdt_counts_row(struct pyusdt_slot *slot, uint32_t probe)
{
    struct pyusdt_counting *counting = &slot->counting;

    counting->wants_counts = true;
    if (!PYUSDT_OS_FILLS_HOLES || counting->rows == counting->mapped)
        return 0;
    if (!counting->mode) {
        void *mode =
            mmap(NULL, (size_t)PYUSDT_COUNT_ROWS * PYUSDT_MAX_PLACES, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mode == MAP_FAILED)
            return 0;
        counting->mode = mode;
    }
    counting->probe[counting->rows] = (uint16_t)probe;
    return (uint8_t)++counting->rows;
}

void pyusdt_counts_announce(struct pyusdt_slot *slot)
{
    struct pyusdt_area *area = atomic_load(&slot->area);

    for (uint32_t row = 0; row < slot->counting.rows; row++)
        area->counted_probe[row] = slot->counting.probe[row];
    atomic_store(&area->counted, slot->counting.room
                                     ? slot->counting.paged
                                     : slot->counting.rows); /* its tracer touches no hole */
}

void pyusdt_counts_discard(struct pyusdt_slot *slot)
{
    struct pyusdt_counts *counts = pyusdt_counts_of(atomic_load(&slot->area));

    for (uint32_t row = 0; slot->counting.room != 0 && row < slot->counting.rows; row++)
        pyusdt_os_discard(counts->at[row], slot->counting.room * sizeof counts->at[row][0]);
}

/* ---- the decision ---- */

/* Pages of the words of some rows, from one number of places to another. 0 or -errno. */
static int allocate_rows(int fd, uint32_t row, uint32_t rows, uint32_t from, uint32_t to)
{
    const uint64_t word = sizeof(uint64_t);
    int r = 0;

    for (; r == 0 && row < rows && from < to; row++)
        r = pyusdt_os_allocate(fd, PYUSDT_AREA_SIZE(row) + from * word, (to - from) * word);
    return r;
}

/* Pages of all rows for so many places, in the area's file. Rows that came later have none of those that the others have. */
static int allocate_in(int dir, int fd, const struct pyusdt_counting *counting, uint32_t room)
{
    uint64_t words = (uint64_t)(room - counting->room) * counting->rows +
                     (uint64_t)counting->room * (counting->rows - counting->paged);
    int r = pyusdt_head_room_reserve(dir, words * sizeof(uint64_t));

    if (r == 0)
        r = allocate_rows(fd, counting->paged, counting->rows, 0, counting->room);
    return r == 0 ? allocate_rows(fd, 0, counting->rows, counting->room, room) : r;
}

/* By the area's name; a process that has become another user can not open it, and fires events from here on. */
static bool make_room(struct pyusdt_slot *slot, unsigned number, uint32_t place)
{
    struct pyusdt_counting *counting = &slot->counting;
    uint32_t room = counting->room ? counting->room : ROOM_START;
    char text[PYUSDT_NAME_SIZE];
    uint64_t size;
    int dir, fd, r = -EIO;

    while (room < place)
        room *= 2;
    if (room == counting->room && counting->paged == counting->rows)
        return true;
    dir = pyusdt_core_open_rundir();
    if (dir < 0)
        return false;
    pyusdt_area_format_name(number, slot->opened, PYUSDT_FILE_AREA, 0, text);
    fd = pyusdt_file_open(dir, text, O_RDWR, &size);
    if (fd >= 0) {
        if (size == PYUSDT_AREA_SIZE(counting->mapped))
            r = allocate_in(dir, fd, counting, room);
        close(fd);
    }
    close(dir);
    if (r == 0) {
        counting->room = room;
        counting->paged = counting->rows;
        pyusdt_counts_announce(slot);
    }
    return r == 0;
}

/* Under the lock. The word has its tag before anybody counts there, and the tracer is told of its page before that. */
static uint8_t decide_mode(struct pyusdt_slot *slot, unsigned number, unsigned probe, uint32_t row,
                           uint32_t place)
{
    struct pyusdt_area *area = atomic_load(&slot->area);
    const char *module, *function;

    pyusdt_place_names(place, &module, &function);
    if (!pyusdt_patterns_count(&slot->patterns, probe, module, function) ||
        !make_room(slot, number, place))
        return PYUSDT_COUNT_MODE_EVENTS;
    atomic_store(&area->countable, slot->counting.room);
    PYUSDT_HOOK(27);
    atomic_store(&pyusdt_counts_of(area)->at[row][place - 1], PYUSDT_COUNT_TAG(slot->opened));
    return PYUSDT_COUNT_MODE_COUNTS;
}

struct decision {
    unsigned number, probe;
    uint32_t place;
    uint8_t mode;
    uint64_t wanted;
};

static void decide_locked(void *arg)
{
    struct decision *decision = arg;
    unsigned number = decision->number, probe = decision->probe;
    struct pyusdt_slot *slot = &pyusdt_core.slot[number];
    uint32_t place = decision->place;
    uint8_t mode = PYUSDT_COUNT_MODE_EVENTS;
    uint32_t row = atomic_load(&atomic_load(&slot->demand)[probe].row);

    if (atomic_load(&slot->generation) == decision->wanted && row != 0) {
        _Atomic uint8_t *kept = pyusdt_count_mode(&slot->counting, row - 1, place);
        mode = atomic_load(kept);
        if (mode == PYUSDT_COUNT_MODE_UNKNOWN) {
            mode = decide_mode(slot, number, probe, row - 1, place);
            atomic_store_explicit(kept, mode, memory_order_release);
        }
    }
    decision->mode = mode;
}

uint8_t pyusdt_count_decide(unsigned number, unsigned probe, uint32_t place, uint64_t wanted)
{
    struct decision decision = {number, probe, place, PYUSDT_COUNT_MODE_EVENTS, wanted};

    pyusdt_spare_stack_call_locked(true, decide_locked, &decision);
    return decision.mode;
}
