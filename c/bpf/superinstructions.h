/*
 * Sequences of instructions that compiled D has everywhere, each run as one operation.
 *
 * - Only the handler of a sequence's first slot is replaced, so a jump into a sequence runs its
 *   rest one by one.
 * - Registers, memory, faults and their slots, and the step budget are those of the single
 *   instructions. The exception is r1 to r3 behind a call of quantize_bucket, which the kernel's
 *   verifier lets no program read.
 */
#ifndef PYUSDT_BPF_SUPERINSTRUCTIONS_H
#define PYUSDT_BPF_SUPERINSTRUCTIONS_H

#include "bpf/decoded_program.h"

struct pyusdt_map;

/* identifier, slots that it takes */
/* clang-format off */
#define PYUSDT_FUSED_OPS(X) \
    X(STATE, 9)             /* r6 = the state block, as every program of the compiler begins */ \
    X(LOOKUP, 5)            /* r0 = map_lookup_elem(map, base + offset) */ \
    X(ELEMENT, 5)           /* the same, of an array */ \
    X(COPY, 6)              /* probe_read_kernel(base + offset, size, base + offset) */ \
    X(READ_STRING, 5)       /* probe_read_user_str(base + offset, size, register) */ \
    X(STRING, 13)           /* COPY, r0 = register = *(base + offset), READ_STRING to where was copied: zeros behind a string */ \
    X(STRING_KEY, 20)       /* STRING, on to the next where it could be read and is shorter than n, LOOKUP by what was read */ \
    X(INCREMENT, 4)         /* r1 = *r0, r2 = r1 + n, *r0 = r2 */ \
    X(SUM, 3)               /* r1 = *r0, r1 += register, *r0 = r1 */ \
    X(BUMP, 3)              /* r1 = *r0, r1 += n, *r0 = r1 */ \
    X(BUCKET, 6)            /* r1 = register, on to the next unless it is above n, r0 += r1, BUMP */ \
    X(GLOBAL, 7)            /* r0 = *global + n, r1 = &global, *r1 = r0 */ \
    X(LOST, 4)              /* r1 = the address of a count, r2 = n, *r1 += r2 */ \
    X(QUANTIZE_BUCKET, 1)   /* a call of the library's quantize_bucket */
/* clang-format on */

enum pyusdt_fused {
#define X(ident, slots) PYUSDT_FUSED_##ident,
    PYUSDT_FUSED_OPS(X)
#undef X
        PYUSDT_FUSED
};

/* rows: by slot, an enum pyusdt_opcode, or what no opcode is for the second half of a 64-bit load.  handlers: of the
 * interpreter, those of the fused operations behind those of the opcodes. */
void pyusdt_fuse(struct pyusdt_program *program, const uint8_t *rows,
                 const struct pyusdt_insn *insns, const struct pyusdt_map *maps,
                 const void *const *handlers);

#endif
