/* Checking and decoding a program: see program.h. */
#include "bpf/helpers.h"
#include "bpf/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/superinstructions.h"
#include "bpf/map.h"

enum form {
#define X(name) FORM_##name,
    PYUSDT_BPF_FORMS(X)
#undef X
};

struct row {
    const char *name;
    uint8_t opcode, sub, form, size;
};

static const struct row rows[] = {/* sorted by opcode; the index is an enum pyusdt_opcode */
#define X(ident, opcode, sub, form, size) {#ident, opcode, sub, FORM_##form, size},
                                  PYUSDT_BPF_INSNS(X)
#undef X
};

/* Which fields of a slot each form uses; the others have to be 0. */
enum {
    DST = 1,
    SRC = 2,
    OFF = 4,
    IMM = 8,
    WRITES = 16 /* dst is written */,
    WIDE = 32 /* two slots */
};
static const uint8_t uses[] = {
    [FORM_DST_SRC] = DST | SRC | WRITES,
    [FORM_DST_IMM] = DST | IMM | WRITES,
    [FORM_DST] = DST | WRITES,
    [FORM_SWAP] = DST | IMM | WRITES,
    [FORM_LOAD] = DST | SRC | OFF | WRITES,
    [FORM_STORE] = DST | SRC | OFF,
    [FORM_STORE_IMM] = DST | OFF | IMM,
    [FORM_ATOMIC] = DST | SRC | OFF | IMM,
    [FORM_JUMP_REG] = DST | SRC | OFF,
    [FORM_JUMP_IMM] = DST | OFF | IMM,
    [FORM_JUMP] = OFF,
    [FORM_WIDE] = DST | IMM | WRITES | WIDE,
    [FORM_MAP] = DST | SRC | IMM | WRITES | WIDE,
    [FORM_MAP_VALUE] = DST | SRC | IMM | WRITES | WIDE,
    [FORM_CALL] = IMM,
    [FORM_CALL_SUB] = SRC | IMM,
    [FORM_EXIT] = 0,
};

#define SECOND 0xff /* in load.row: the second slot of a 64-bit load */

struct load {
    const struct pyusdt_insn *insns;
    const struct pyusdt_map *maps;
    struct pyusdt_program *program;
    uint8_t *row; /* by slot: index into rows, or SECOND */
    uint32_t *
        function; /* by slot: index of the function that starts there + 1, then of the one around it */
    unsigned n, n_maps;
    struct pyusdt_error *err;
};

_Static_assert(PYUSDT_OPS < SECOND, "a row's index has to fit a byte");

__attribute__((format(printf, 3, 4))) static int refuse(struct load *load, unsigned slot,
                                                        const char *format, ...)
{
    char what[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return pyusdt_error_set(load->err, -EINVAL, "instruction %u: %s", slot, what);
}

static bool matches(const struct row *row, const struct pyusdt_insn *insn)
{
    switch (row->form) {
    case FORM_SWAP:
    case FORM_ATOMIC:
        return row->sub == insn->imm;
    case FORM_WIDE:
    case FORM_MAP:
    case FORM_MAP_VALUE:
    case FORM_CALL:
    case FORM_CALL_SUB:
        return row->sub == insn->src;
    default:
        return true;
    }
}

static int find_row(const struct pyusdt_insn *insn)
{
    unsigned low = 0, high = PYUSDT_OPS;
    while (low < high) { /* the first row of the opcode */
        unsigned middle = (low + high) / 2;
        if (rows[middle].opcode < insn->opcode)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < PYUSDT_OPS && rows[low].opcode == insn->opcode; low++)
        if (matches(&rows[low], insn))
            return (int)low;
    return -1;
}

/* --- one instruction by itself ------------------------------------------------------------------ */

static bool divides_by_zero(const struct row *row, const struct pyusdt_insn *insn)
{
    uint8_t op = row->opcode & 0xf0;
    return row->form == FORM_DST_IMM && insn->imm == 0 && (op == 0x30 || op == 0x90);
}

static bool shifts_too_far(const struct row *row, const struct pyusdt_insn *insn)
{
    uint8_t op = row->opcode & 0xf0;
    uint32_t bits = (row->opcode & 7) == 7 ? 64 : 32;
    return row->form == FORM_DST_IMM && (op == 0x60 || op == 0x70 || op == 0xc0) &&
           (uint32_t)insn->imm >= bits;
}

static int check_registers(struct load *load, unsigned slot, const struct row *row)
{
    const struct pyusdt_insn *insn = &load->insns[slot];
    uint8_t use = uses[row->form];
    if (insn->dst > 10 || insn->src > 10)
        return refuse(load, slot, "register r%u does not exist",
                      insn->dst > 10 ? insn->dst : insn->src);
    bool fetches = row->form == FORM_ATOMIC && (row->sub & 1) && insn->src == 10;
    if (((use & WRITES) && insn->dst == 10) || fetches)
        return refuse(load, slot, "r10 is read only");
    if ((!(use & DST) && insn->dst) || (!(use & SRC) && insn->src) || (!(use & OFF) && insn->off) ||
        (!(use & IMM) && insn->imm))
        return refuse(load, slot, "%s with a field set that it does not use", row->name);
    bool through_r10 = row->size && (row->form == FORM_LOAD ? insn->src : insn->dst) == 10;
    if (through_r10 && (insn->off < -(int)PYUSDT_VM_STACK || insn->off + row->size > 0))
        return refuse(load, slot, "stack access at %d", insn->off);
    return 0;
}

static int check_map(struct load *load, unsigned slot, const struct row *row)
{
    uint32_t index = (uint32_t)load->insns[slot].imm, off = (uint32_t)load->insns[slot + 1].imm;
    if (index >= load->n_maps)
        return refuse(load, slot, "there is no map %u", index);
    const struct pyusdt_map_def *def = &load->maps[index].def;
    if (row->form == FORM_MAP && off)
        return refuse(load, slot, "%s with a field set that it does not use", row->name);
    if (row->form == FORM_MAP_VALUE && (def->kind != PYUSDT_MAP_ARRAY || def->entries != 1))
        return refuse(load, slot, "map %u is not an array of one element", index);
    if (row->form == FORM_MAP_VALUE && off >= def->value_size)
        return refuse(load, slot, "offset %u is outside of map %u's value", off, index);
    return 0;
}

static int check_insn(struct load *load, unsigned slot, const struct row *row)
{
    const struct pyusdt_insn *insn = &load->insns[slot];
    int rc = check_registers(load, slot, row);
    if (rc)
        return rc;
    if (divides_by_zero(row, insn))
        return refuse(load, slot, "division by zero");
    if (shifts_too_far(row, insn))
        return refuse(load, slot, "shift by %d", insn->imm);
    if (row->form == FORM_CALL && pyusdt_helper_index(insn->imm) < 0)
        return refuse(load, slot, "unknown helper %d", insn->imm);
    if (uses[row->form] & WIDE) {
        const struct pyusdt_insn *second = insn + 1;
        if (slot + 1 >= load->n || second->opcode || second->dst || second->src || second->off)
            return refuse(load, slot, "%s without its second half", row->name);
        if (row->form != FORM_WIDE)
            return check_map(load, slot, row);
    }
    return 0;
}

static int check_insns(struct load *load)
{
    for (unsigned slot = 0; slot < load->n; slot++) {
        int index = find_row(&load->insns[slot]);
        if (index < 0)
            return refuse(load, slot, "unknown opcode 0x%02x", load->insns[slot].opcode);
        int rc = check_insn(load, slot, &rows[index]);
        if (rc)
            return rc;
        load->row[slot] = (uint8_t)index;
        if (uses[rows[index].form] & WIDE)
            load->row[++slot] = SECOND;
    }
    return 0;
}

/* --- functions and jumps ------------------------------------------------------------------------ */

static int find_functions(struct load *load)
{
    struct pyusdt_program *program = load->program;
    unsigned count = 0;
    load->function[0] = 1; /* marks starts, for now */
    for (unsigned slot = 0; slot < load->n; slot++) {
        if (load->row[slot] == SECOND || rows[load->row[slot]].form != FORM_CALL_SUB)
            continue;
        int64_t target = (int64_t)slot + 1 + load->insns[slot].imm;
        if (target < 0 || target >= load->n || load->row[target] == SECOND)
            return refuse(load, slot, "call to %lld, where no instruction starts",
                          (long long)target);
        load->function[target] = 1;
    }
    for (unsigned slot = 0; slot < load->n; slot++)
        count += load->function[slot];
    program->functions = calloc(count, sizeof *program->functions);
    if (!program->functions)
        return pyusdt_error_set(load->err, -ENOMEM, "no memory for a program");
    for (unsigned slot = 0; slot < load->n; slot++) {
        if (load->function[slot])
            program->functions[program->n_functions++].start = slot;
        load->function[slot] = program->n_functions - 1;
        program->functions[program->n_functions - 1].end = slot + 1;
    }
    return 0;
}

/* `mov r2, r10; add r2, -n; call`: a helper may look at n bytes, and the register dies with the call. */
static bool is_argument(const struct load *load, unsigned slot)
{
    const struct pyusdt_insn *mov = &load->insns[slot], *add = mov + 1;

    return slot + 2 < load->n && load->row[slot] == PYUSDT_OP_MOV_X &&
           load->row[slot + 1] == PYUSDT_OP_ADD_K && load->row[slot + 2] == PYUSDT_OP_CALL &&
           add->dst == mov->dst && mov->dst >= 1 && mov->dst <= 5 && add->imm < 0 &&
           add->imm >= -(int)PYUSDT_VM_STACK;
}

/* Note how much of its stack the instruction lets its function reach: all, if the address in r10 goes anywhere. */
static void note_stack(struct load *load, unsigned slot, const struct row *row)
{
    const struct pyusdt_insn *insn = &load->insns[slot];
    uint32_t *stack = &load->program->functions[load->function[slot]].stack, reach = 0;
    uint8_t use = uses[row->form];
    unsigned base = row->form == FORM_LOAD ? insn->src : insn->dst;
    bool as_value = row->form == FORM_LOAD ? false : (use & SRC) && insn->src == 10;
    if (row->size && base == 10)
        reach = ((uint32_t)-insn->off + 7) & ~7u;
    else if ((use & DST) && !row->size && insn->dst == 10)
        as_value = true;
    if (as_value)
        reach = is_argument(load, slot) ? ((uint32_t)-insn[1].imm + 7) & ~7u : PYUSDT_VM_STACK;
    if (reach > *stack)
        *stack = reach;
}

static int check_flow(struct load *load)
{
    const struct pyusdt_program *program = load->program;
    for (unsigned slot = 0; slot < load->n; slot++) {
        if (load->row[slot] == SECOND)
            continue;
        const struct row *row = &rows[load->row[slot]];
        const struct pyusdt_function *function = &program->functions[load->function[slot]];
        note_stack(load, slot, row);
        if (row->form != FORM_JUMP && row->form != FORM_JUMP_REG && row->form != FORM_JUMP_IMM)
            continue;
        int64_t target = (int64_t)slot + 1 + load->insns[slot].off;
        if (target < function->start || target >= function->end)
            return refuse(load, slot, "jump to %lld, outside of its function", (long long)target);
        if (load->row[target] == SECOND)
            return refuse(load, slot, "jump to %lld, into an instruction", (long long)target);
    }
    for (unsigned i = 0; i < program->n_functions; i++) {
        unsigned last = program->functions[i].end - 1;
        if (load->row[last] == SECOND ||
            (rows[load->row[last]].form != FORM_EXIT && rows[load->row[last]].form != FORM_JUMP))
            return refuse(load, last, "the function's end can be run over");
    }
    return 0;
}

/* --- decoding ----------------------------------------------------------------------------------- */

static void decode(struct load *load, const void *const *handlers)
{
    for (unsigned slot = 0; slot < load->n; slot++) {
        const struct pyusdt_insn *insn = &load->insns[slot];
        struct pyusdt_op *op = &load->program->ops[slot];
        const struct row *row = &rows[load->row[slot]];
        op->handler = handlers[load->row[slot]];
        op->dst = insn->dst;
        op->src = insn->src;
        op->off = insn->off;
        op->imm = insn->imm;
        if (row->form == FORM_CALL)
            op->imm = pyusdt_helper_index(insn->imm);
        if (row->form == FORM_CALL_SUB)
            op->imm = (int32_t)load->function[(int64_t)slot + 1 + insn->imm];
        if (uses[row->form] & WIDE) {
            uint64_t wide = (uint64_t)(uint32_t)insn[1].imm << 32 | (uint32_t)insn->imm;
            if (row->form == FORM_MAP)
                wide = PYUSDT_MAP_HANDLE | (uint32_t)insn->imm;
            else if (row->form == FORM_MAP_VALUE)
                wide = (uintptr_t)load->maps[insn->imm].values + (uint32_t)insn[1].imm;
            op[1].wide = wide;
            slot++;
        }
    }
}

int pyusdt_program_load(struct pyusdt_program *program, const struct pyusdt_insn *insns, unsigned n,
                        const struct pyusdt_map *maps, unsigned n_maps, const void *const *handlers,
                        struct pyusdt_error *err)
{
    struct load load = {
        .insns = insns, .n = n, .maps = maps, .n_maps = n_maps, .program = program, .err = err};
    int rc;
    memset(program, 0, sizeof *program);
    if (n == 0)
        return pyusdt_error_set(err, -EINVAL, "the program is empty");
    if (n > PYUSDT_VM_INSNS)
        return pyusdt_error_set(err, -E2BIG, "the program has %u instructions, more than %u", n,
                                PYUSDT_VM_INSNS);
    load.row = malloc(n);
    load.function = calloc(n, sizeof *load.function);
    program->ops = calloc(n, sizeof *program->ops);
    program->n_ops = n;
    if (!load.row || !load.function || !program->ops) {
        rc = pyusdt_error_set(err, -ENOMEM, "no memory for a program");
        goto out;
    }
    rc = check_insns(&load);
    if (!rc)
        rc = find_functions(&load);
    if (!rc)
        rc = check_flow(&load);
    if (!rc) {
        decode(&load, handlers);
        pyusdt_fuse(program, load.row, insns, maps, handlers);
    }
out:
    free(load.row);
    free(load.function);
    if (rc)
        pyusdt_program_destroy(program);
    return rc;
}

void pyusdt_program_destroy(struct pyusdt_program *program)
{
    free(program->ops);
    free(program->functions);
    memset(program, 0, sizeof *program);
}
