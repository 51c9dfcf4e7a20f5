/* Finding the sequences of superinstructions.h. */
#include "bpf/helpers.h"
#include "bpf/superinstructions.h"

#include <string.h>

#include "bpf/vm_internal.h"

#define ANY 0xff /* a register that a sequence leaves open */
#define ANY_OFF INT16_MAX
#define ANY_IMM INT32_MIN
#define SECOND PYUSDT_OPS /* stands for the second half of a 64-bit load */

struct step {
    uint8_t row, dst, src;
    int16_t off;
    int32_t imm;
};

#define MOV(to, from) {PYUSDT_OP_MOV_X, to, from, 0, 0}
#define SET(to, value) {PYUSDT_OP_MOV_K, to, 0, 0, value}
#define ADD(to, value) {PYUSDT_OP_ADD_K, to, 0, 0, value}
#define MAP(to) {PYUSDT_OP_LDMAP, to, ANY, 0, ANY_IMM}, {SECOND, 0, 0, 0, 0}
#define HELPER(name) {PYUSDT_OP_CALL, 0, 0, 0, PYUSDT_HELPER_##name}

static const struct step state[] = {
    {PYUSDT_OP_STDW, 10, 0, -8, 0},
    MAP(1),
    MOV(2, 10),
    ADD(2, -8),
    HELPER(MAP_LOOKUP_ELEM),
    {PYUSDT_OP_JNE_K, 0, 0, 1, 0},
    {PYUSDT_OP_EXIT, 0, 0, 0, 0},
    MOV(6, 0),
};
static const struct step lookup[] = {MAP(1), MOV(2, ANY), ADD(2, ANY_IMM), HELPER(MAP_LOOKUP_ELEM)};
static const struct step copy[] = {
    MOV(3, ANY),     ADD(3, ANY_IMM), MOV(1, ANY),
    ADD(1, ANY_IMM), SET(2, ANY_IMM), HELPER(PROBE_READ_KERNEL),
};
static const struct step read_string[] = {
    SET(2, ANY_IMM), MOV(1, ANY), ADD(1, ANY_IMM), MOV(3, ANY), HELPER(PROBE_READ_USER_STR),
};
static const struct step string[] = {
    MOV(3, ANY),
    ADD(3, ANY_IMM),
    MOV(1, ANY),
    ADD(1, ANY_IMM),
    SET(2, ANY_IMM),
    HELPER(PROBE_READ_KERNEL),
    {PYUSDT_OP_LDXDW, 0, ANY, ANY_OFF, 0},
    MOV(ANY, 0),
    SET(2, ANY_IMM),
    MOV(1, ANY),
    ADD(1, ANY_IMM),
    MOV(3, ANY),
    HELPER(PROBE_READ_USER_STR),
};
static const struct step string_key[] = {
    {PYUSDT_OP_JSLT_K, 0, 0, ANY_OFF, 0},
    {PYUSDT_OP_JGE_K, 0, 0, ANY_OFF, ANY_IMM},
    MAP(1),
    MOV(2, ANY),
    ADD(2, ANY_IMM),
    HELPER(MAP_LOOKUP_ELEM),
};
static const struct step increment[] = {
    {PYUSDT_OP_LDXDW, 1, 0, ANY_OFF, 0},
    MOV(2, 1),
    ADD(2, ANY_IMM),
    {PYUSDT_OP_STXDW, 0, 2, ANY_OFF, 0},
};

static const struct step sum[] = {
    {PYUSDT_OP_LDXDW, 1, 0, ANY_OFF, 0},
    {PYUSDT_OP_ADD_X, 1, ANY, 0, 0},
    {PYUSDT_OP_STXDW, 0, 1, ANY_OFF, 0},
};
static const struct step bump[] = {
    {PYUSDT_OP_LDXDW, 1, 0, ANY_OFF, 0}, ADD(1, ANY_IMM), {PYUSDT_OP_STXDW, 0, 1, ANY_OFF, 0}};
static const struct step bucket[] = {
    MOV(1, ANY), {PYUSDT_OP_JGT_K, 1, 0, ANY_OFF, ANY_IMM}, {PYUSDT_OP_ADD_X, 0, 1, 0, 0}};
static const struct step global[] = {
    {PYUSDT_OP_LDMAPVAL, 0, ANY, 0, ANY_IMM},
    {SECOND, 0, 0, 0, 0},
    {PYUSDT_OP_LDXDW, 0, 0, 0, 0},
    ADD(0, ANY_IMM),
    {PYUSDT_OP_LDMAPVAL, 1, ANY, 0, ANY_IMM},
    {SECOND, 0, 0, 0, 0},
    {PYUSDT_OP_STXDW, 1, 0, 0, 0},
};
static const struct step lost[] = {
    {PYUSDT_OP_LDMAPVAL, 1, ANY, 0, ANY_IMM},
    {SECOND, 0, 0, 0, 0},
    SET(2, ANY_IMM),
    {PYUSDT_OP_ATOMIC_ADD, 1, 2, 0, ANY_IMM},
};

struct fusing {
    struct pyusdt_program *program;
    const uint8_t *rows;
    const struct pyusdt_insn *insns;
    const struct pyusdt_map *maps;
};

static bool match_step(const struct fusing *f, const struct step *step, uint32_t slot)
{
    const struct pyusdt_op *op = &f->program->ops[slot];

    if (step->row == SECOND)
        return f->rows[slot] >= PYUSDT_OPS;
    return f->rows[slot] == step->row && (step->dst == ANY || op->dst == step->dst) &&
           (step->src == ANY || op->src == step->src) &&
           (step->off == ANY_OFF || op->off == step->off) &&
           (step->imm == ANY_IMM || op->imm == step->imm);
}

static bool match_sequence(const struct fusing *f, const struct step *steps, uint32_t n,
                           uint32_t slot)
{
    for (uint32_t i = 0; i < n; i++)
        if (slot + i >= f->program->n_ops || !match_step(f, &steps[i], slot + i))
            return false;
    return true;
}

#define FOUND(f, steps, slot) match_sequence(f, steps, sizeof(steps) / sizeof *(steps), slot)

/* The state block is element 0 of array map 0. */
static bool is_state(const struct fusing *f, uint32_t slot)
{
    return FOUND(f, state, slot) && f->insns[slot + 1].imm == 0 && f->maps[0].values &&
           !f->maps[0].hashed;
}

static bool is_element(const struct fusing *f, uint32_t slot)
{
    return FOUND(f, lookup, slot) && f->maps[f->insns[slot].imm].values &&
           !f->maps[f->insns[slot].imm].hashed;
}

/* The same word is read and written. */
static bool is_increment(const struct fusing *f, uint32_t slot)
{
    return FOUND(f, increment, slot) && f->program->ops[slot].off == f->program->ops[slot + 3].off;
}

/* The same; what is added is neither the word itself nor its address. */
static bool is_sum(const struct fusing *f, uint32_t slot)
{
    return FOUND(f, sum, slot) && f->program->ops[slot].off == f->program->ops[slot + 2].off &&
           f->program->ops[slot + 1].src > 1;
}

static bool is_bump(const struct fusing *f, uint32_t slot)
{
    return FOUND(f, bump, slot) && f->program->ops[slot].off == f->program->ops[slot + 2].off;
}

static bool is_bucket(const struct fusing *f, uint32_t slot)
{
    return FOUND(f, bucket, slot) && is_bump(f, slot + 3);
}

/* One word of an array, wholly inside of it. */
static bool is_global(const struct fusing *f, uint32_t slot)
{
    const struct pyusdt_op *op = &f->program->ops[slot];

    return FOUND(f, global, slot) && op[1].wide == op[5].wide &&
           pyusdt_in_map(&f->maps[f->insns[slot].imm], op[1].wide, 8);
}

static bool is_quantize_bucket(const struct fusing *f, uint32_t slot)
{
    static const struct pyusdt_insn code[] = {PYUSDT_BPF_QUANTIZE_BUCKET};
    const struct pyusdt_function *callee;

    if (f->rows[slot] != PYUSDT_OP_CALLSUB)
        return false;
    callee = &f->program->functions[f->program->ops[slot].imm];
    return callee->end - callee->start == sizeof code / sizeof *code &&
           memcmp(&f->insns[callee->start], code, sizeof code) == 0;
}

/* The register keeps its value over the calls of a sequence. */
static bool is_kept(uint8_t number)
{
    return number >= 6 && number <= 10;
}

/* Both add the same to the same register. */
static bool same_address(const struct pyusdt_op *a, const struct pyusdt_op *b)
{
    return a[0].src == b[0].src && a[1].imm == b[1].imm;
}

/* One place is filled by the copy and then by the string, whose address is in a register that no address is made from. */
static bool is_string(const struct fusing *f, uint32_t slot)
{
    const struct pyusdt_op *op = &f->program->ops[slot];

    return FOUND(f, string, slot) && is_kept(op[0].src) && is_kept(op[2].src) &&
           is_kept(op[6].src) && same_address(op + 2, op + 9) && op[4].imm == op[8].imm &&
           op[4].imm > 0 && op[7].dst == op[11].src && is_kept(op[7].dst) && op[7].dst != op[2].src;
}

/* The string is the whole key of a hash. */
static bool is_string_key(const struct fusing *f, uint32_t slot)
{
    const struct pyusdt_op *op = &f->program->ops[slot];
    const struct pyusdt_map *map;

    if (!is_string(f, slot) || !FOUND(f, string_key, slot + 13) || !same_address(op + 2, op + 17))
        return false;
    map = &f->maps[f->insns[slot + 15].imm];
    return map->hashed && map->def.key_size == (uint32_t)op[4].imm && map->def.key_size % 8 == 0;
}

/* The slot names the state block: its map, or the register that the prologue leaves its address in. */
static bool names_state(const struct fusing *f, uint32_t slot)
{
    const struct pyusdt_op *op = &f->program->ops[slot];
    bool is_map = f->rows[slot] == PYUSDT_OP_LDMAP || f->rows[slot] == PYUSDT_OP_LDMAPVAL;

    return f->rows[slot] < PYUSDT_OPS &&
           (op->dst == 6 || op->src == 6 || (is_map && f->insns[slot].imm == 0));
}

/* The instruction gives r0 another value, from nothing that the prologue leaves; or a lookup begins, which does. */
static bool replaces_r0(const struct fusing *f, uint32_t slot)
{
    bool is_constant = slot < f->program->n_ops &&
                       (f->rows[slot] == PYUSDT_OP_MOV_K || f->rows[slot] == PYUSDT_OP_LDDW ||
                        f->rows[slot] == PYUSDT_OP_LDMAPVAL);

    return FOUND(f, lookup, slot) || (is_constant && f->program->ops[slot].dst == 0);
}

/* Behind the prologue the address of the state block is in r6, and in r0 until that is replaced, which has to be at once. */
static bool is_blind(const struct fusing *f)
{
    uint32_t behind = sizeof state / sizeof *state;

    if (!is_state(f, 0) || !replaces_r0(f, behind))
        return false;
    for (uint32_t slot = behind; slot < f->program->n_ops; slot++)
        if (names_state(f, slot))
            return false;
    return true;
}

static int fused_at(const struct fusing *f, uint32_t slot)
{
    return is_state(f, slot)             ? PYUSDT_FUSED_STATE
           : is_element(f, slot)         ? PYUSDT_FUSED_ELEMENT
           : FOUND(f, lookup, slot)      ? PYUSDT_FUSED_LOOKUP
           : is_string_key(f, slot)      ? PYUSDT_FUSED_STRING_KEY
           : is_string(f, slot)          ? PYUSDT_FUSED_STRING
           : FOUND(f, copy, slot)        ? PYUSDT_FUSED_COPY
           : FOUND(f, read_string, slot) ? PYUSDT_FUSED_READ_STRING
           : is_increment(f, slot)       ? PYUSDT_FUSED_INCREMENT
           : is_sum(f, slot)             ? PYUSDT_FUSED_SUM
           : is_bump(f, slot)            ? PYUSDT_FUSED_BUMP
           : is_bucket(f, slot)          ? PYUSDT_FUSED_BUCKET
           : is_global(f, slot)          ? PYUSDT_FUSED_GLOBAL
           : FOUND(f, lost, slot)        ? PYUSDT_FUSED_LOST
           : is_quantize_bucket(f, slot) ? PYUSDT_FUSED_QUANTIZE_BUCKET
                                         : -1;
}

void pyusdt_fuse(struct pyusdt_program *program, const uint8_t *rows,
                 const struct pyusdt_insn *insns, const struct pyusdt_map *maps,
                 const void *const *handlers)
{
    static const uint8_t slots[] = {
#define X(ident, slots) slots,
        PYUSDT_FUSED_OPS(X)
#undef X
    };
    const struct fusing f = {program, rows, insns, maps};

    program->blind = is_blind(&f);
    for (uint32_t slot = 0; slot < program->n_ops;) {
        int fused = fused_at(&f, slot);
        if (fused >= 0)
            program->ops[slot].handler = handlers[PYUSDT_OPS + fused];
        slot += fused >= 0 ? slots[fused] : 1;
    }
}
