/*
 * Counts in the target: a session that only wants the number of firings at a code location gets no
 * events.
 *
 * The counts are words in the session's area file (struct pyusdt_counts), one for each probe and
 * location. The tracer collects them from there.
 *
 * - If anything is unclear (no lock, no pages, no free row, an undecided location) an event is
 *   fired instead, which is right for every session.
 * - A word is changed by one atomic operation, and only if it has this session's tag. A thread that
 *   comes late changes nothing.
 * - The decisions are private. The shared words can only make counts wrong.
 * - docs/internals/ring.md, "Counting", gives the proof.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "shared/os.h"
#include "target/in_target_count.h"
#include "target/spare_stack.h"

#define ROOM_START 512u /* locations whose words have pages at first: one page of each row */
/* the least number of rows of an area file whose session counts: for probes that are defined
 * later */
#define ROWS_START 4u

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

/* Allocates the pages of all rows for so many locations in the area file. A row that was added
 * later has none of the earlier pages. */
static int allocate_in(int dir, int fd, const struct pyusdt_counting *counting, uint32_t room)
{
    uint64_t words = (uint64_t)(room - counting->room) * counting->rows +
                     (uint64_t)counting->room * (counting->rows - counting->paged);
    int r = pyusdt_head_room_reserve(dir, words * sizeof(uint64_t));

    if (r == 0)
        r = allocate_rows(fd, counting->paged, counting->rows, 0, counting->room);
    return r == 0 ? allocate_rows(fd, 0, counting->rows, counting->room, room) : r;
}

/* By the area's name. A process that has become another user cannot open it, and fires events from
 * here on. */
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

/* Under the lock. The word gets its tag, and the tracer is notified of its page, before any thread
 * counts there. */
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
