/*
 * The interpreter's loop: threaded code, one label for each instruction of the table.
 *
 * - The program was checked (program.h), so only values are checked here: every address goes
 *   through pyusdt_run_access.
 * - Each backward jump and call costs its distance, so a run takes at most its program's length and
 *   the step limit together.
 */
#include "bpf/helpers.h"
#include "bpf/interpreter.h"
#include "bpf/superinstructions.h"
#include "bpf/vm_internal.h"

#include <errno.h>
#include <string.h>

struct frame { /* what a call keeps for its return */
    const struct pyusdt_op *pc;
    uint64_t saved[4]; /* r6 … r9 */
    uint64_t r10;
    uintptr_t stack_low;
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LITTLE(bits, x) ((uint##bits##_t)(x))
#define BIG(bits, x) (__builtin_bswap##bits((uint##bits##_t)(x)))
#else
#define LITTLE(bits, x) (__builtin_bswap##bits((uint##bits##_t)(x)))
#define BIG(bits, x) ((uint##bits##_t)(x))
#endif

#define DST r[pc->dst]
#define SRC r[pc->src]
#define IMM ((uint64_t)(int64_t)pc->imm)
#define NEXT \
    do { \
        pc++; \
        goto * pc->handler; \
    } while (0)

/* One arithmetic instruction in its four forms; RESULT is of a and b. */
#define ALU_FORM(LABEL, type, operand, RESULT) \
    LABEL: \
    { \
        type a = (type)DST, b = (type)operand; \
        (void)a; \
        DST = (type)(RESULT); \
        NEXT; \
    }
/* clang-format off */
#define ALU(NAME, RESULT) \
    ALU_FORM(NAME##_K, uint64_t, IMM, RESULT) ALU_FORM(NAME##_X, uint64_t, SRC, RESULT) \
    ALU_FORM(NAME##32_K, uint32_t, IMM, RESULT) ALU_FORM(NAME##32_X, uint32_t, SRC, RESULT)
/* clang-format on */

#define BITS(x) (sizeof(x) * 8 - 1) /* the mask of a shift */
#define SIGNED(x) _Generic((x), uint32_t: (int32_t)(x), uint64_t: (int64_t)(x))

/* One conditional jump in its four forms. */
#define JUMP_FORM(LABEL, type, operand, CONDITION) \
    LABEL: \
    { \
        type a = (type)DST, b = (type)operand; \
        if (CONDITION) \
            goto take; \
        NEXT; \
    }
/* clang-format off */
#define JUMP(NAME, CONDITION) \
    JUMP_FORM(NAME##_K, uint64_t, IMM, CONDITION) JUMP_FORM(NAME##_X, uint64_t, SRC, CONDITION) \
    JUMP_FORM(NAME##32_K, uint32_t, IMM, CONDITION) JUMP_FORM(NAME##32_X, uint32_t, SRC, CONDITION)
/* clang-format on */

#define ACCESS(type, base, write) \
    uint8_t *p = pyusdt_run_access(run, (base) + (uint64_t)(int64_t)pc->off, sizeof(type), write); \
    if (__builtin_expect(!p, 0)) \
        goto stop;
#define MEMORY(SIZE, type) \
    LDX##SIZE: \
    { \
        ACCESS(type, SRC, false) \
        type value; \
        memcpy(&value, p, sizeof value); \
        DST = value; \
        NEXT; \
    } \
    STX##SIZE: \
    { \
        ACCESS(type, DST, true) \
        type value = (type)SRC; \
        memcpy(p, &value, sizeof value); \
        NEXT; \
    } \
    ST##SIZE: \
    { \
        ACCESS(type, DST, true) \
        type value = (type)pc->imm; \
        memcpy(p, &value, sizeof value); \
        NEXT; \
    }

/* One atomic: `was` is the memory's value, NEW what it becomes.  One thread runs a vm, so it need not be one. */
#define ATOMIC_FORM(LABEL, type, NEW, AFTER) \
    LABEL: \
    { \
        ACCESS(type, DST, true) \
        type was, b = (type)SRC, becomes; \
        memcpy(&was, p, sizeof was); \
        becomes = (type)(NEW); \
        memcpy(p, &becomes, sizeof becomes); \
        AFTER; \
        NEXT; \
    }
#define ATOMIC(NAME, NEW, AFTER) \
    ATOMIC_FORM(ATOMIC_##NAME, uint64_t, NEW, AFTER) \
    ATOMIC_FORM(ATOMIC_##NAME##32, uint32_t, NEW, AFTER)
#define ATOMIC_AND_FETCH(NAME, NEW) ATOMIC(NAME, NEW, ) ATOMIC(FETCH_##NAME, NEW, SRC = was)

/* lib/quantize_bucket.bpf in C. */
static inline uint64_t quantize_bucket(uint64_t value)
{
    bool negative = (int64_t)value < 0;
    uint64_t size = negative ? -value : value,
             k = size == 0 ? 0 : 64 - (uint64_t)__builtin_clzll(size);

    k = k > 63 ? 63 : k; /* the smallest integer */
    return negative ? 63 - k : 63 + k;
}

/* A call of a helper at the end of a sequence: r1 … are set, pc is the call. */
#define FUSED_CALL(HELPER) \
    do { \
        r[0] = pyusdt_helpers[PYUSDT_HELPER_##HELPER](run, r + 1); \
        if (__builtin_expect(run->error, 0)) \
            goto stop; \
        NEXT; \
    } while (0)
/* r1 = *r0 + what is added, *r0 = r1. */
#define ADDITION(ADDED) \
    { \
        uint8_t *p = pyusdt_run_access(run, r[0] + (uint64_t)(int64_t)pc->off, 8, true); \
        if (__builtin_expect(!p, 0)) { /* as in FUSED_INCREMENT */ \
            run->error = 0; \
            goto LDXDW; \
        } \
        memcpy(&r[1], p, 8); \
        r[1] += ADDED; \
        memcpy(p, &r[1], 8); \
        pc += 3; \
        goto * pc->handler; \
    }
#define SUM(op, add) (r[(op)->src] + (uint64_t)(int64_t)(add)->imm) /* of mov and add */

/* Sequence STRING but for its registers: the string's bytes with the NUL and, in *address, where it lies in the process; 0: nothing
 * was done that the sequence, begun again one by one, does not do as well. */
static inline uint64_t read_string(struct pyusdt_run *run, const struct pyusdt_op *pc,
                                   const uint64_t *r, uint64_t *address)
{
    uint64_t from = SUM(pc, pc + 1), to = SUM(pc + 2, pc + 3),
             at = r[pc[6].src] + (uint64_t)(int64_t)pc[6].off;
    uint32_t size = (uint32_t)pc[4].imm;

    if (!pyusdt_in_state(run, from, size) || !pyusdt_in_state(run, to, size) ||
        !pyusdt_in_state(run, at, 8) || (from < to + size && to < from + size) ||
        (at < to + size && to < at + 8) || !run->env->read_user)
        return 0;
    memcpy(address, (const void *)(uintptr_t)at, 8);
    int used = run->env->read_user(run->env->arg, *address, (void *)(uintptr_t)to, size,
                                   PYUSDT_READ_STRING);
    if (used <= 0)
        return 0;
    memcpy((void *)(uintptr_t)(to + (uint32_t)used),
           (const void *)(uintptr_t)(from + (uint32_t)used), size - (uint32_t)used);
    return (uint32_t)used;
}

/* program == NULL: only gives the labels. */
static int execute(struct pyusdt_run *run, const struct pyusdt_program *program, uint64_t *r0,
                   const void *const **handlers)
{
    static const void *const labels[PYUSDT_OPS + PYUSDT_FUSED] = {
#define X(ident, opcode, sub, form, size) &&ident,
        PYUSDT_BPF_INSNS(X)
#undef X
#define X(ident, slots) &&FUSED_##ident,
            PYUSDT_FUSED_OPS(X)
#undef X
    };
    if (!program) {
        *handlers = labels;
        return 0;
    }
    struct frame frames[PYUSDT_VM_FRAMES], *frame = frames;
    const struct pyusdt_op *pc = program->ops;
    int64_t budget = run->env->step_limit ? run->env->step_limit : PYUSDT_VM_STEPS;
    uint64_t r[16]; /* r[11] … do not exist: no load lets their numbers through */
    int error;

    run->stack_top = (uintptr_t)run->vm->stack + sizeof run->vm->stack;
    run->stack_low = run->stack_top - program->functions[0].stack;
    if (program->functions[0].stack ==
        8) /* what all programs of the compiler have: not worth a call */
        run->vm->stack[sizeof run->vm->stack / 8 - 1] = 0;
    else
        memset((void *)run->stack_low, 0, program->functions[0].stack);
    /* One by one: as an initialiser it becomes `rep stos`, which takes longer than most clauses run. */
    r[0] = r[2] = r[3] = r[4] = r[5] = r[6] = r[7] = r[8] = r[9] = 0;
    r[1] = (uintptr_t)run->env->context;
    r[10] = run->stack_top;
    goto * pc->handler;

    ALU(ADD, a + b)
    ALU(SUB, a - b)
    ALU(MUL, a * b)
    ALU(DIV, b ? a / b : 0)
    ALU(MOD, b ? a % b : a)
    ALU(OR, a | b)
    ALU(AND, a & b)
    ALU(XOR, a ^ b)
    ALU(MOV, b)
    ALU(LSH, a << (b & BITS(a)))
    ALU(RSH, a >> (b & BITS(a)))
    ALU(ARSH, SIGNED(a) >> (b & BITS(a)))
    ALU_FORM(NEG, uint64_t, 0, b - a)
    ALU_FORM(NEG32, uint32_t, 0, b - a)
    ALU_FORM(LE16, uint64_t, 0, LITTLE(16, a) | b)
    ALU_FORM(LE32, uint64_t, 0, LITTLE(32, a) | b)
    ALU_FORM(LE64, uint64_t, 0, LITTLE(64, a) | b)
    ALU_FORM(BE16, uint64_t, 0, BIG(16, a) | b)
    ALU_FORM(BE32, uint64_t, 0, BIG(32, a) | b)
    ALU_FORM(BE64, uint64_t, 0, BIG(64, a) | b)

    JUMP(JEQ, a == b)
    JUMP(JNE, a != b)
    JUMP(JGT, a > b)
    JUMP(JGE, a >= b)
    JUMP(JLT, a < b)
    JUMP(JLE, a <= b)
    JUMP(JSET, a & b)
    JUMP(JSGT, SIGNED(a) > SIGNED(b))
    JUMP(JSGE, SIGNED(a) >= SIGNED(b))
    JUMP(JSLT, SIGNED(a) < SIGNED(b))
    JUMP(JSLE, SIGNED(a) <= SIGNED(b))

    MEMORY(B, uint8_t)
    MEMORY(H, uint16_t)
    MEMORY(W, uint32_t)
    MEMORY(DW, uint64_t)

    ATOMIC_AND_FETCH(ADD, was + b)
    ATOMIC_AND_FETCH(OR, was | b)
    ATOMIC_AND_FETCH(AND, was & b)
    ATOMIC_AND_FETCH(XOR, was ^ b)
    ATOMIC(XCHG, b, SRC = was)
    ATOMIC_FORM(ATOMIC_CMPXCHG, uint64_t, was == r[0] ? b : was, r[0] = was)
    ATOMIC_FORM(ATOMIC_CMPXCHG32, uint32_t, was == (uint32_t)r[0] ? b : was, r[0] = was)

LDDW:
LDMAP:
LDMAPVAL:
    DST = pc[1].wide;
    pc++;
    NEXT;

JA:
take: /* the jump at pc is taken */
    if (pc->off < 0 && (budget += pc->off) < 0)
        goto loop;
    pc += pc->off;
    NEXT;

CALL:
    r[0] = pyusdt_helpers[pc->imm](run, r + 1);
    if (__builtin_expect(run->error, 0))
        goto stop;
    NEXT;

CALLSUB:
    {
        const struct pyusdt_function *callee = &program->functions[pc->imm];
        budget -= callee->end - callee->start;
        if (budget < 0 || frame == frames + PYUSDT_VM_FRAMES - 1)
            goto loop;
        *frame++ = (struct frame){pc, {r[6], r[7], r[8], r[9]}, r[10], run->stack_low};
        r[10] = run->stack_low;
        run->stack_low -= callee->stack;
        memset((void *)run->stack_low, 0, callee->stack);
        pc = program->ops + callee->start;
        goto * pc->handler;
    }

FUSED_STATE:
    r[1] = pc[2].wide;
    r[2] = r[10] - 8;
    memset((void *)(uintptr_t)r[2], 0, 8);
    r[0] = r[6] = (uintptr_t)run->vm->state;
    pc += 9;
    goto * pc->handler;

FUSED_LOOKUP:
    r[1] = pc[1].wide;
    r[2] = SUM(pc + 2, pc + 3);
    pc += 4;
    FUSED_CALL(MAP_LOOKUP_ELEM);

FUSED_ELEMENT:
    {
        uint32_t index;
        r[1] = pc[1].wide;
        r[2] = SUM(pc + 2, pc + 3);
        pc += 4;
        const uint8_t *key = pyusdt_run_access(run, r[2], sizeof index, false);
        if (__builtin_expect(!key, 0))
            goto stop;
        memcpy(&index, key, sizeof index);
        r[0] = (uintptr_t)pyusdt_map_element(&run->vm->maps[r[1] - PYUSDT_MAP_HANDLE], index);
        NEXT;
    }

FUSED_COPY:
    r[3] = SUM(pc, pc + 1);
    r[1] = SUM(pc + 2, pc + 3);
    r[2] = (uint64_t)(int64_t)pc[4].imm;
    pc += 5;
    FUSED_CALL(PROBE_READ_KERNEL);

FUSED_READ_STRING:
    r[2] = IMM;
    r[1] = SUM(pc + 1, pc + 2);
    r[3] = r[pc[3].src];
    pc += 4;
    FUSED_CALL(PROBE_READ_USER_STR);

/* STRING's registers; r[0] is the string's size. */
#define STRING_REGISTERS \
    uint64_t address; \
    uint64_t string = read_string(run, pc, r, &address); \
    if (__builtin_expect(!string, 0)) \
        goto MOV_X; \
    r[0] = string; \
    r[1] = SUM(pc + 2, pc + 3); \
    r[2] = (uint64_t)(int64_t)pc[4].imm; \
    r[3] = r[pc[7].dst] = address;

FUSED_STRING:
    {
        STRING_REGISTERS
        pc += 13;
        goto * pc->handler;
    }

FUSED_STRING_KEY:
    {
        STRING_REGISTERS
        if (__builtin_expect(r[0] >= (uint64_t)(int64_t)pc[14].imm, 0)) {
            pc += 14;
            goto * pc->handler;
        }
        r[2] = r[1];
        r[1] = pc[16].wide;
        r[0] = (uintptr_t)pyusdt_map_lookup(&run->vm->maps[r[1] - PYUSDT_MAP_HANDLE],
                                            (const void *)(uintptr_t)r[2]);
        pc += 20;
        goto * pc->handler;
    }

FUSED_INCREMENT:
    {
        uint8_t *p = pyusdt_run_access(run, r[0] + (uint64_t)(int64_t)pc->off, 8, true);
        if (__builtin_expect(!p, 0)) { /* the instructions one by one find what is wrong */
            run->error = 0;
            goto LDXDW;
        }
        memcpy(&r[1], p, 8);
        r[2] = r[1] + (uint64_t)(int64_t)pc[2].imm;
        memcpy(p, &r[2], 8);
        pc += 4;
        goto * pc->handler;
    }

FUSED_SUM:
    ADDITION(r[pc[1].src])

FUSED_BUMP:
    ADDITION((uint64_t)(int64_t)pc[1].imm)

FUSED_BUCKET:
    r[1] = r[pc->src];
    pc++;
    if (r[1] > IMM)
        goto take;
    r[0] += r[1];
    pc += 2;
    goto FUSED_BUMP;

FUSED_GLOBAL:
    {
        uint8_t *p = (uint8_t *)(uintptr_t)pc[1].wide;
        memcpy(&r[0], p, 8);
        r[0] += (uint64_t)(int64_t)pc[3].imm;
        memcpy(p, &r[0], 8);
        r[1] = pc[1].wide;
        pc += 7;
        goto * pc->handler;
    }

FUSED_LOST:
    {
        r[1] = pc[1].wide;
        r[2] = (uint64_t)(int64_t)pc[2].imm;
        pc += 3;
        goto ATOMIC_ADD; /* the only one of them that can go wrong */
    }

FUSED_QUANTIZE_BUCKET:
    {
        const struct pyusdt_function *callee = &program->functions[pc->imm];
        budget -= callee->end - callee->start;
        if (budget < 0 || frame == frames + PYUSDT_VM_FRAMES - 1)
            goto loop;
        r[0] = quantize_bucket(r[1]);
        NEXT;
    }

EXIT:
    if (frame == frames) {
        *r0 = r[0];
        return 0;
    }
    frame--;
    pc = frame->pc;
    memcpy(r + 6, frame->saved, sizeof frame->saved);
    r[10] = frame->r10;
    run->stack_low = frame->stack_low;
    NEXT;

stop:
    error = run->error;
    goto failed;
loop:
    error = -ELOOP;
failed:
    run->env->fault_pc = (uint32_t)(pc - program->ops);
    return error;
}

int pyusdt_run(struct pyusdt_run *run, const struct pyusdt_program *program, uint64_t *r0)
{
    return execute(run, program, r0, NULL);
}

const void *const *pyusdt_run_handlers(void)
{
    const void *const *handlers;
    execute(NULL, NULL, NULL, &handlers);
    return handlers;
}
