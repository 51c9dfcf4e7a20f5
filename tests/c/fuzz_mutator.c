/*
 * Makes an input of an input, operation by operation, with values at the edges of what the layouts allow. The seed determines the result.
 */
#include "fuzz_reader.h"

#include <stddef.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint32_t dice(unsigned *state, uint32_t sides)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)*state * sides >> 32);
}

/* Edges: of sizes, of numbers of probes, of heads and tails. */
static uint64_t edge(unsigned *state)
{
    static const uint64_t edges[] = {
        0,        1,    2,           8,        12,       13,         16,        23,   24,
        32,       40,   NPROBES - 1, NPROBES,  64,       192,        1023,      1024, 4096,
        RING - 8, RING, RING + 8,    1u << 20, 1u << 31, UINT32_MAX, UINT64_MAX};
    uint64_t value = edges[dice(state, sizeof edges / sizeof edges[0])];

    switch (dice(state, 6)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return dice(state, 64); /* an index */
    case 3:
        return dice(state, 2); /* just behind the last, where it is counted from there */
    default:
        return value;
    }
}

static struct operation any(unsigned *state)
{
    struct operation op = {.code = (uint8_t)dice(state, OPERATIONS),
                           .which = (uint8_t)dice(state, 6),
                           .field = (uint8_t)dice(state, 64),
                           .flags = (uint8_t)(1u << dice(state, 10)),
                           .at = (uint32_t)edge(state),
                           .value = edge(state)};
    if (dice(state, 3) == 0)
        op.flags |= (uint8_t)dice(state, 256);
    if (op.code == EVENT)
        op.at |= dice(state, 60) << 24;
    return op;
}

static void change(struct operation *op, unsigned *state)
{
    switch (dice(state, 6)) {
    case 0:
        op->which = (uint8_t)dice(state, 256);
        break;
    case 1:
        op->field = (uint8_t)dice(state, 256);
        break;
    case 2:
        op->flags ^= (uint8_t)(1u << dice(state, 8));
        break;
    case 3:
        op->at = (uint32_t)edge(state);
        break;
    case 4:
        op->value = edge(state);
        break;
    case 5:
        LLVMFuzzerMutate((uint8_t *)op, sizeof *op, sizeof *op);
        break;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    struct operation op[OPERATIONS_MAX];
    size_t room = max_size / sizeof *op < OPERATIONS_MAX ? max_size / sizeof *op : OPERATIONS_MAX;
    size_t n = size / sizeof *op < room ? size / sizeof *op : room, at;
    unsigned state = seed;

    if (room == 0)
        return size;
    memcpy(op, data, n * sizeof *op);
    for (unsigned rounds = 1 + dice(&state, 3); rounds > 0; rounds--) {
        at = n ? dice(&state, (uint32_t)n) : 0;
        if (n < room && (n == 0 || dice(&state, 3) == 0)) { /* one more, here */
            memmove(&op[at + 1], &op[at], (n - at) * sizeof *op);
            op[at] = n > 0 && dice(&state, 4) == 0 ? op[dice(&state, (uint32_t)n)] : any(&state);
            n++;
        } else if (n > 1 && dice(&state, 6) == 0) { /* one less */
            memmove(&op[at], &op[at + 1], (n - at - 1) * sizeof *op);
            n--;
        } else {
            change(&op[at], &state);
        }
    }
    memcpy(data, op, n * sizeof *op);
    return n * sizeof *op;
}
