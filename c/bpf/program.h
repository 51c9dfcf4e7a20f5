/* A loaded program: checked, and decoded for the interpreter.
 *
 * In: instructions in the kernel's encoding.  Out: struct pyusdt_program.  Always, after a
 * successful load: every opcode is one of the table's and its unused fields are 0; register
 * numbers are 0 … 10 and r10 is never written; jumps stay in their function and land on the start
 * of an instruction; every function ends in exit or a jump; helpers, maps and callees exist;
 * accesses through r10 itself stay in the function's own stack.  What depends on values
 * (addresses, loops) is checked when it runs.
 */
#ifndef PYUSDT_BPF_PROGRAM_H
#define PYUSDT_BPF_PROGRAM_H

#include "bpf/vm.h"

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

struct pyusdt_map;
int pyusdt_program_load(struct pyusdt_program *program, const struct pyusdt_insn *insns, unsigned n,
                        const struct pyusdt_map *maps, unsigned n_maps, const void *const *handlers,
                        struct pyusdt_error *err);
void pyusdt_program_destroy(struct pyusdt_program *program);

/* The rows of the helper table (helpers.c). */
enum pyusdt_helper {
#define X(ident, number) PYUSDT_HELPER_##ident,
    PYUSDT_BPF_HELPERS(X)
#undef X
        PYUSDT_HELPERS
};

/* Index in that table of a helper's number, or -1. */
int pyusdt_helper_index(int32_t number);

#endif
