/* A program as the interpreter runs it. */
#ifndef PYUSDT_BPF_DECODED_PROGRAM_H
#define PYUSDT_BPF_DECODED_PROGRAM_H

#include <stdbool.h>

#include "bpf/vm_types.h"

enum pyusdt_opcode {
#define X(ident, opcode, sub, form, size) PYUSDT_OP_##ident,
    PYUSDT_BPF_INSNS(X)
#undef X
        PYUSDT_OPS
};

/* One slot, so that program counters are the same in both forms; a 64-bit load's second is unused. */
struct pyusdt_op {
    union {
        const void *handler; /* in the interpreter */
        uint64_t wide;       /* second slot of a 64-bit load: the value */
    };
    uint8_t dst, src;
    int16_t off;
    int32_t imm; /* call: index of the helper; callsub: index of the function */
};

struct pyusdt_function {
    uint32_t start, end; /* slots */
    uint32_t stack;      /* bytes that it can reach below its r10, a multiple of 8 */
};

struct pyusdt_program {
    struct pyusdt_op *ops;
    struct pyusdt_function *functions; /* [0] is entered first */
    uint32_t n_ops, n_functions;
    bool
        blind; /* does not look at the state block: found with the sequences of superinstructions.h */
};

/* The value that ldmap loads: no address, so that only helpers can use it. */
#define PYUSDT_MAP_HANDLE 0x7f6d617000000000u

#endif
