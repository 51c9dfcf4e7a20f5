/* The walk over a program that exists in a model alone: what it reads of it takes time, in which the program goes on.
 *
 * The program is `while True: a(); b()`, of which each turn takes TURN moments: the caller is at the line that calls a, a runs, the caller is at
 * the line that calls b, b runs, in the memory where a was.  For how long a part and a line of the processor's cache take to be read, for each
 * moment at which a walk may begin, there is one walk.  Printed: the walks that say that nothing moved, and those of them that have a
 * stack that never was: a from b's line, or b from a's. */
#include "pystack/python_walk.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
    TURN = 40,
    AT_A = 5, /* moments that each of the four takes */
    IN_A = 14,
    AT_B = 6,
    LINE = 64, /* bytes */
    CODE_MAIN = 0x100,
    CODE_A = 0x200,
    CODE_B = 0x300,
    LINE_A = 0x110,
    LINE_B = 0x120, /* of any values */
};

static const uint64_t RUNTIME = 0x10000, INTERP = 0x20000, THREAD = 0x30000, CFRAME = 0x40000,
                      MAIN = 0x50100;

static struct pyusdt_python_layout layout;
static uint64_t callee; /* where the frame of a and b is */
static uint64_t now, part_takes, line_takes;

static bool in_callee(uint64_t moment)
{
    return (moment >= AT_A && moment < AT_A + IN_A) || moment >= AT_A + IN_A + AT_B;
}

static uint64_t word_at(uint64_t address, uint64_t time)
{
    uint64_t moment = time % TURN;
    bool before_b = moment < AT_A + IN_A;
    const struct {
        uint64_t address, value;
    } words[] = {
        {RUNTIME + layout.runtime_interpreters, INTERP},
        {INTERP + layout.interp_threads, THREAD},
        {THREAD + layout.thread_interp, INTERP},
        {THREAD + layout.thread_cframe, CFRAME},
        {CFRAME + layout.cframe_frame, in_callee(moment) ? callee : MAIN},
        {MAIN + layout.frame_code, CODE_MAIN},
        {MAIN + layout.frame_instr, before_b ? LINE_A : LINE_B},
        {callee + layout.frame_code,
         moment >= AT_A && moment < AT_A + IN_A + AT_B ? CODE_A : CODE_B},
        {callee + layout.frame_previous, MAIN},
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].address == address)
            return words[i].value;
    return 0;
}

int64_t pyusdt_memory_read_parts(const struct pyusdt_memory *memory,
                                 const struct pyusdt_memory_part *parts, size_t n)
{
    int64_t size = 0;

    (void)memory;
    for (size_t i = 0; i < n; i++) {
        now += part_takes;
        for (size_t at = 0; at < parts[i].size; at += 8) {
            uint64_t address = parts[i].address + at, word;
            now += at && address % LINE == 0 ? line_takes : 0;
            word = word_at(address, now);
            memcpy((uint8_t *)parts[i].to + at, &word,
                   parts[i].size - at < 8 ? parts[i].size - at : 8);
        }
        size += (int64_t)parts[i].size;
    }
    return size;
}

int pyusdt_memory_read(const struct pyusdt_memory *memory, uint64_t address, void *to, size_t size)
{
    struct pyusdt_memory_part part = {address, to, size};

    return pyusdt_memory_read_parts(memory, &part, 1) == (int64_t)size ? 0 : -EFAULT;
}

void pyusdt_memory_read_each(const struct pyusdt_memory *memory,
                             const struct pyusdt_memory_part *parts, size_t n, bool *read)
{
    for (size_t i = 0; i < n; i++)
        read[i] = pyusdt_memory_read_parts(memory, parts + i, 1) == (int64_t)parts[i].size;
}

bool pyusdt_memory_is_same_process(const struct pyusdt_memory *memory)
{
    (void)memory;
    return true;
}

/* 1: whole, of a moment that was; -1: of none; 0: it does not say that it is whole. */
static int walk(struct pyusdt_walker *walker)
{
    const struct pyusdt_walked *walked;
    const uint64_t *words, *frames;
    size_t n;

    if (pyusdt_walk(walker, NULL, 0, &words, &n))
        return 0;
    walked = (const struct pyusdt_walked *)words;
    frames = words + sizeof *walked / sizeof *words;
    if (walked->flags & (PYUSDT_STACK_MOVED | PYUSDT_STACK_TORN | PYUSDT_STACK_LOST) ||
        walked->frames == 1)
        return walked->frames == 1 && !(walked->flags & ~PYUSDT_STACK_RAN);
    return (frames[0] & ~1UL) == (frames[3] == LINE_A ? CODE_A : CODE_B) ? 1 : -1;
}

int main(void)
{
    const struct pyusdt_memory memory = {1, -1};
    struct pyusdt_walker *walker;
    int whole = 0, wrong = 0;

    if (pyusdt_python_layout(12, &layout))
        return 1;
    walker = pyusdt_walker_new(&memory, &layout, RUNTIME, 10, 1, false, false);
    if (!walker)
        return 1;
    for (int far = 0; far < 2; far++)
        for (part_takes = 1; part_takes < 3 * TURN; part_takes++)
            for (line_takes = 0; line_takes < 10; line_takes += 3)
                for (uint64_t begin = 0; begin < TURN; begin++) {
                    callee = far ? MAIN + 0x3000 : MAIN + 0x60;
                    now = begin;
                    int found = part_takes % TURN ? walk(walker) : 0;
                    whole += found != 0;
                    wrong += found < 0;
                }
    printf("%d %d\n", whole, wrong);
    pyusdt_walker_free(walker);
    return 0;
}
