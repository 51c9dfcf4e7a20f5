/* Where control leaves a function: its code is followed from the beginning, with the depth of the stack (instructions.h).
 *
 * The order: where jumps lead to and what follows it, then what follows calls (which may not come back), and, of a whole function, what
 * nothing leads to.  The depth that an instruction is first seen with stays. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/function_exits.h"
#include "kernel/instructions.h"

enum { RAX, RSP = 4, RBP = 5, REGISTERS = 16 };
enum { UNKNOWN = PYUSDT_UNKNOWN_DEPTH, UNSEEN = INT32_MIN + 1, DEEPEST = 1 << 28 };

/* What was last put into a register, in the order of the code: an address (lea), an entry of a table, or anything else. */
struct last {
    uint64_t address;
    uint8_t is_address, entry;
};

/* The stack: bytes that the function has on it, and those that it had when rbp was set.  is_anchor: of what is seen, a call or a switch. */
struct state {
    int32_t depth, frame;
    uint8_t is_anchor;
};

struct called {
    size_t at;
    struct state state;
};

struct walk {
    const uint8_t *code;
    size_t size;
    uint64_t address;
    struct state *states; /* of each byte */
    uint32_t *jumped;     /* heaps */
    struct called *called;
    size_t n_jumped, n_called;
    struct last last[REGISTERS];
    struct pyusdt_exit *exits;
    size_t n, room;
};

static void add_exit(struct walk *w, size_t at, enum pyusdt_exit_kind kind, uint64_t target,
                     int condition, unsigned entry, int32_t depth)
{
    if (w->n < w->room) {
        w->exits[w->n] = (struct pyusdt_exit){target, at, depth, kind, condition, entry};
    }
    w->n++;
}

/* Note that the code goes on at an offset. */
static void note_reached(struct walk *w, uint64_t at, struct state state)
{
    if (w->states[at].depth == UNSEEN) {
        w->jumped[w->n_jumped++] = at;
        w->states[at] = state;
    }
}

/* The same behind a call, which may not come back. */
static void reach_behind_call(struct walk *w, size_t at, size_t next, struct state state)
{
    w->states[at].is_anchor = 1;
    if (next < w->size && w->states[next].depth == UNSEEN) {
        w->called[w->n_called++] = (struct called){next, state};
    }
}

static int32_t bound_depth(int64_t depth)
{
    return depth > DEEPEST || depth < -DEEPEST ? UNKNOWN : (int32_t)depth;
}

static void add_depth(struct state *s, int64_t bytes)
{
    s->depth = s->depth == UNKNOWN ? UNKNOWN : bound_depth((int64_t)s->depth + bytes);
}

/* --- x86-64 ---------------------------------------------------------------------------------- */

static unsigned reg_of(const struct pyusdt_instruction *it)
{
    return (it->modrm >> 3 & 7) | (it->rex & 4 ? 8 : 0);
}

static unsigned rm_of(const struct pyusdt_instruction *it)
{
    return (it->modrm & 7) | (it->rex & 1 ? 8 : 0);
}

static int is_memory(const struct pyusdt_instruction *it)
{
    return it->has_modrm && it->modrm >> 6 != 3;
}

/* Memory at a register and a displacement, without an index; the register, or -1. */
static int plain_base(const struct pyusdt_instruction *it)
{
    if (!is_memory(it) || (it->modrm >> 6 == 0 && (it->modrm & 7) == 5)) {
        return -1;
    }
    if ((it->modrm & 7) != 4) {
        return (int)rm_of(it);
    }
    int has_index = (it->sib >> 3 & 7) != 4 || it->rex & 2,
        has_base = (it->sib & 7) != 5 || it->modrm >> 6 != 0;
    return has_index || !has_base ? -1 : (it->sib & 7) | (it->rex & 1 ? 8 : 0);
}

/* Memory with an index, as a table of addresses or distances has it: the number of bytes of an entry, 0: it is none. */
static unsigned table_entry_size(const struct pyusdt_instruction *it)
{
    int has_index =
        is_memory(it) && (it->modrm & 7) == 4 && ((it->sib >> 3 & 7) != 4 || it->rex & 2);
    return has_index && it->sib >> 6 >= 2 ? 1U << (it->sib >> 6) : 0;
}

/* Where the table of an indexed operand is, or 0. */
static uint64_t table_of(const struct walk *w, const struct pyusdt_instruction *it)
{
    if (it->modrm >> 6 == 0 && (it->sib & 7) == 5) {
        return (uint64_t)it->displacement;
    }
    const struct last *base = &w->last[(it->sib & 7) | (it->rex & 1 ? 8 : 0)];
    return base->is_address ? base->address + it->displacement : 0;
}

/* What an instruction puts into registers, as far as jumps by tables need it. */
static void note_registers(struct walk *w, const struct pyusdt_instruction *it, uint64_t next)
{
    if (it->map != PYUSDT_ONE_BYTE) {
        return;
    }
    unsigned reg = it->has_modrm ? reg_of(it) : 0, rm = it->has_modrm ? rm_of(it) : 0,
             entry = table_entry_size(it);
    switch (it->opcode) {
    case 0x8d: /* lea */
        w->last[reg] =
            (struct last){next + it->displacement, it->modrm >> 6 == 0 && (it->modrm & 7) == 5, 0};
        break;
    case 0x63:
    case 0x8b: /* movslq, mov */
        w->last[reg] = entry           ? (struct last){table_of(w, it), 0, entry}
                       : is_memory(it) ? (struct last){0}
                                       : w->last[rm];
        break;
    case 0x03: /* add to reg */
        if (entry) {
            w->last[reg] = (struct last){table_of(w, it), 0, entry};
        } else if (!is_memory(it) && w->last[rm].entry) {
            w->last[reg] = w->last[rm];
        } else if (!w->last[reg].entry) {
            w->last[reg] = (struct last){0};
        }
        break;
    case 0x01: /* add to r/m */
        if (!is_memory(it) && !w->last[rm].entry) {
            w->last[rm] = w->last[reg].entry ? w->last[reg] : (struct last){0};
        }
        break;
    case 0x89:
        if (!is_memory(it)) {
            w->last[rm] = w->last[reg];
        }
        break;
    default:
        if (it->opcode >= 0xb8 &&
            it->opcode <=
                0xbf) { /* mov of a number: the address of a table, in a program that is not moved */
            w->last[(it->opcode & 7) | (it->rex & 1 ? 8 : 0)] =
                (struct last){(uint64_t)it->immediate, 1, 0};
        } else if (it->opcode >= 0x58 && it->opcode <= 0x5f) {
            w->last[(it->opcode & 7) | (it->rex & 1 ? 8 : 0)] = (struct last){0};
        }
    }
}

/* An operation with rsp as its result. */
static void set_stack(const struct pyusdt_instruction *it, struct state *s)
{
    unsigned group = it->modrm >> 3 & 7;
    int base = plain_base(it);
    if ((it->opcode == 0x83 || it->opcode == 0x81) &&
        (group == 5 || group == 0)) { /* sub, add of a number */
        add_depth(s, group == 5 ? it->immediate : -it->immediate);
    } else if (it->opcode == 0x8d && base == RSP) {
        add_depth(s, -it->displacement);
    } else if (it->opcode == 0x8d && base == RBP) {
        s->depth =
            s->frame == UNKNOWN ? UNKNOWN : bound_depth((int64_t)s->frame - it->displacement);
    } else if (it->opcode == 0x8d &&
               it->displacement ==
                   -8) { /* of a register that was set above the address to return to */
        s->depth = 0;
    } else if ((it->opcode == 0x89 || it->opcode == 0x8b) && !is_memory(it) &&
               (it->opcode == 0x89 ? reg_of(it) : rm_of(it)) == RBP) {
        s->depth = s->frame;
    } else {
        s->depth = UNKNOWN;
    }
}

static int writes_stack(const struct pyusdt_instruction *it)
{
    uint8_t code = it->opcode;
    if (!it->has_modrm || it->map != PYUSDT_ONE_BYTE) {
        return 0;
    }
    int to_rm = !is_memory(it) && rm_of(it) == RSP, to_reg = reg_of(it) == RSP;
    int compares = (code & 0xf8) == 0x38 || code == 0x84 || code == 0x85 ||
                   ((code == 0x81 || code == 0x83) && (it->modrm >> 3 & 7) == 7);
    if (compares) {
        return 0;
    }
    if (code == 0x8b || code == 0x8d || code == 0x63 || (code < 0x40 && (code & 7) == 3)) {
        return to_reg;
    }
    return to_rm && (code == 0x89 || code == 0x81 || code == 0x83 || code == 0x87 || code == 0xc7 ||
                     (code < 0x40 && (code & 7) == 1));
}

/* What an instruction does to the stack. */
static void move_stack(const struct pyusdt_instruction *it, struct state *s)
{
    uint8_t code = it->opcode, group = it->modrm >> 3 & 7;
    int word = it->half ? 2 : 8;
    if (it->map == PYUSDT_TWO_BYTES && ((code & 0xf6) == 0xa0)) { /* push, pop of fs and gs */
        add_depth(s, code & 1 ? -word : word);
    }
    if (it->map != PYUSDT_ONE_BYTE) {
        return;
    }
    if ((code >= 0x50 && code <= 0x57) || code == 0x68 || code == 0x6a || code == 0x9c ||
        (code == 0xff && group == 6)) {
        add_depth(s, word);
    } else if ((code >= 0x58 && code <= 0x5f) || code == 0x9d || (code == 0x8f && it->has_modrm)) {
        add_depth(s, -word);
        if (code == 0x5c && !(it->rex & 1)) {
            s->depth = UNKNOWN;
        }
    } else if (code == 0xc9) {
        s->depth = s->frame == UNKNOWN ? UNKNOWN : bound_depth((int64_t)s->frame - 8);
    } else if (code == 0xc8) {
        s->depth = UNKNOWN;
    } else if (code == 0xe8 && it->immediate == 0) { /* where am I? */
        add_depth(s, 8);
    } else if (writes_stack(it)) {
        set_stack(it, s);
    } else if ((code == 0x89 && !is_memory(it) && reg_of(it) == RSP && rm_of(it) == RBP) ||
               (code == 0x8b && !is_memory(it) && reg_of(it) == RBP && rm_of(it) == RSP)) {
        s->frame = s->depth;
    } else if (code == 0x8d && reg_of(it) == RBP && plain_base(it) == RSP) {
        s->frame =
            s->depth == UNKNOWN ? UNKNOWN : bound_depth((int64_t)s->depth - it->displacement);
    }
}

/* A jump to where memory or a register says. */
static void jump_indirect(struct walk *w, const struct pyusdt_instruction *it, size_t at,
                          const struct state *s)
{
    unsigned entry = table_entry_size(it);
    w->states[at].is_anchor = 1;
    int is_got = it->modrm >> 6 == 0 && (it->modrm & 7) == 5;
    const struct last *by = is_memory(it) ? NULL : &w->last[rm_of(it)];
    if (it->notrack || (s->depth == UNKNOWN ? s->frame != UNKNOWN : s->depth != 0)) {
        return; /* of a switch, or labels as values: the frame is still there */
    }
    uint64_t table = by ? by->address : entry ? table_of(w, it) : 0;
    if (by ? by->entry : entry) {
        add_exit(w, at, table ? PYUSDT_EXIT_TABLE : PYUSDT_EXIT_UNCLEAR, table, PYUSDT_ALWAYS,
                 by ? by->entry : entry, s->depth);
    } else {
        add_exit(w, at, s->depth == 0 || is_got ? PYUSDT_EXIT_POINTER : PYUSDT_EXIT_UNCLEAR, 0,
                 PYUSDT_ALWAYS, 0, s->depth);
    }
}

/* A jump to an address: within the function, or out of it.  Returns whether the next instruction is reached, too. */
static int follow_jump(struct walk *w, size_t at, const struct state *s, uint64_t target,
                       int condition)
{
    if (target - w->address < w->size) {
        note_reached(w, target - w->address, *s);
    } else {
        add_exit(w, at, condition > PYUSDT_ALWAYS ? PYUSDT_EXIT_UNCLEAR : PYUSDT_EXIT_JUMP, target,
                 condition, 0, s->depth);
    }
    return condition != PYUSDT_ALWAYS;
}

/* One instruction: 1 where the next one is reached from it, 0 where not, negative: an error. */
static int step_x86(struct walk *w, size_t at, struct state *s, size_t *next)
{
    struct pyusdt_instruction it;
    uint64_t target;
    if (pyusdt_instruction_x86(w->code + at, w->size - at, &it) == 0) {
        return -EINVAL;
    }
    *next = at + it.size;
    int condition = pyusdt_jump_x86(&it, w->address + *next, &target);
    if (condition >= 0) {
        return follow_jump(w, at, s, target, condition);
    }
    if (it.map == PYUSDT_ONE_BYTE) {
        if (it.opcode == 0xc3 || it.opcode == 0xc2) {
            add_exit(w, at, PYUSDT_EXIT_RETURN, 0, PYUSDT_ALWAYS, 0, s->depth);
            return 0;
        }
        if (it.opcode == 0xff && (it.modrm >> 3 & 7) == 4) {
            jump_indirect(w, &it, at, s);
            return 0;
        }
        if (it.opcode == 0xcb || it.opcode == 0xca || it.opcode == 0xcf || it.opcode == 0xf4 ||
            (it.opcode == 0xff && (it.modrm >> 3 & 7) == 5)) {
            return it.opcode == 0xf4 ? 0 : -EINVAL; /* far ones: no compiler makes them */
        }
        if (it.opcode == 0xe8 || (it.opcode == 0xff && (it.modrm >> 3 & 7) == 2)) {
            move_stack(&it, s);
            memset(w->last, 0, sizeof w->last);
            reach_behind_call(w, at, *next, *s);
            return 0;
        }
    } else if (it.map == PYUSDT_TWO_BYTES &&
               (it.opcode == 0x0b || it.opcode == 0xb9 || it.opcode == 0xff)) { /* ud2 */
        return 0;
    }
    note_registers(w, &it, w->address + *next);
    move_stack(&it, s);
    return 1;
}

/* --- aarch64 ----------------------------------------------------------------------------------- */

/* The depth says only whether the address to return to, x30, is in a frame. */
static int step_aarch64(struct walk *w, size_t at, struct state *s, size_t *next)
{
    uint32_t word;
    uint64_t target;
    if (w->size - at < 4) {
        return -EINVAL;
    }
    memcpy(&word, w->code + at, 4);
    *next = at + 4;
    int condition = pyusdt_jump_aarch64(word, w->address + at, &target);
    if (condition >= 0) {
        return follow_jump(w, at, s, target, condition);
    }
    if ((word & 0xfffffc1f) == 0xd65f0000 ||
        (word & 0xfffffbff) == 0xd65f0bff) { /* ret, retaa, retab */
        add_exit(w, at, PYUSDT_EXIT_RETURN, 0, PYUSDT_ALWAYS, 0, s->depth);
        return 0;
    }
    if ((word & 0xfffffc1f) == 0xd61f0000 ||
        (word & 0xfefff800) == 0xd61f0800) { /* br, braa and its like */
        w->states[at].is_anchor = 1;
        int is_table = w->last[word >> 5 & 15].entry && !(word & 0x200);
        if (s->depth == 0 && !is_table) {
            add_exit(w, at, PYUSDT_EXIT_POINTER, 0, PYUSDT_ALWAYS, 0, 0);
        }
        return 0;
    }
    if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000) { /* bl, blr */
        reach_behind_call(w, at, *next, *s);
        return 0;
    }
    if ((word & 0xffff0000) == 0 || (word & 0xffe0001f) == 0xd4200000) { /* udf, brk */
        return 0;
    }
    int first = word & 31, second = word >> 10 & 31, pairs = (word & 0xfe000000) == 0xa8000000,
        single = (word & 0xffc00000) == 0xf8000000 || (word & 0xffc00000) == 0xf8400000 ||
                 (word & 0xff800000) == 0xf9000000;
    if ((pairs && (first == 30 || second == 30)) ||
        (single && first == 30)) { /* x30 is saved, or fetched */
        int based = (word >> 5 & 31) == 31 || (word >> 5 & 31) == 29;
        s->depth = !based ? s->depth : word & 0x00400000 ? 0 : 16;
    }
    if ((word & 0x7fe00000) == 0x0b000000 || (word & 0xffe00000) == 0x8b200000 ||
        (word & 0xffe00000) == 0x8b000000) { /* add of registers */
        w->last[word & 15].entry = !(word & 16);
    } else if ((word & 0xffe00c00) == 0xf8600800 && (word & 31) < 16) { /* ldr of an entry */
        w->last[word & 15].entry = 1;
    } else if ((word & 0xffc00000) == 0xf9400000 && (word & 31) < 16) { /* ldr of a pointer */
        w->last[word & 15].entry = 0;
    }
    return 1;
}

/* --- both ------------------------------------------------------------------------------------------ */

/* From an offset to where the code does not go on. */
static int follow_code(struct walk *w, int machine, size_t at)
{
    for (struct state state = w->states[at];;) {
        size_t next = 0;
        int goes_on = (machine == PYUSDT_X86_64 ? step_x86 : step_aarch64)(w, at, &state, &next);
        if (goes_on <= 0) {
            return goes_on;
        }
        if (next >= w->size) { /* into what lies behind it */
            add_exit(w, at, PYUSDT_EXIT_JUMP, w->address + next, PYUSDT_ALWAYS, 0, state.depth);
            return 0;
        }
        if (w->states[next].depth != UNSEEN) {
            return 0;
        }
        w->states[next] = state;
        w->states[next].is_anchor = 0;
        at = next;
    }
}

/* All that is noted to be reached. */
static int follow_all(struct walk *w, int machine)
{
    int result = 0;
    while (result == 0 && (w->n_jumped || w->n_called)) {
        if (w->n_jumped) {
            result = follow_code(w, machine, w->jumped[--w->n_jumped]);
            continue;
        }
        struct called called = w->called[--w->n_called];
        if (w->states[called.at].depth == UNSEEN) {
            w->states[called.at] = called.state;
            result = follow_code(w, machine, called.at);
        }
    }
    return result;
}

/* What nothing leads to: it has the frame of the last call or switch before it. */
static int follow_rest(struct walk *w, int machine)
{
    struct state body = {0, UNKNOWN, 0};
    for (size_t at = 0; at < w->size;) {
        struct pyusdt_instruction it;
        size_t length = machine == PYUSDT_X86_64
                            ? (size_t)pyusdt_instruction_x86(w->code + at, w->size - at, &it)
                        : w->size - at < 4 ? 0
                                           : 4;
        if (length == 0) {
            return -EINVAL;
        }
        if (w->states[at].depth == UNSEEN) {
            size_t before = w->n;
            w->states[at] = body;
            int result = follow_code(w, machine, at);
            result = result ? result : follow_all(w, machine);
            if (result) {
                return result;
            }
            while (w->n > before && w->n <= w->room &&
                   w->exits[w->n - 1].target == w->address + w->size &&
                   w->exits[w->n - 1].kind == PYUSDT_EXIT_JUMP) {
                w->n--; /* what fills it up */
            }
        } else if (w->states[at].is_anchor) {
            body = w->states[at];
            body.is_anchor = 0;
        }
        at += length;
    }
    return 0;
}

int64_t pyusdt_find_function_exits(int machine, const uint8_t *code, size_t size, uint64_t address,
                                   int32_t depth, int whole, struct pyusdt_exit *exits, size_t room)
{
    if (machine != PYUSDT_X86_64 && machine != PYUSDT_AARCH64) {
        return -ENOTSUP;
    }
    if (size == 0 || size >= UINT32_MAX) {
        return -EINVAL;
    }
    struct walk w = {.code = code, .size = size, .address = address, .exits = exits, .room = room};
    w.states = malloc(size * sizeof *w.states);
    w.jumped = malloc(size * sizeof *w.jumped);
    w.called = malloc(size * sizeof *w.called);
    int64_t result = -ENOMEM;
    if (w.states && w.jumped && w.called) {
        for (size_t at = 0; at < size; at++) {
            w.states[at].depth = UNSEEN;
        }
        w.states[0] = (struct state){depth, UNKNOWN, 0};
        w.jumped[w.n_jumped++] = 0;
        result = follow_all(&w, machine);
        if (result == 0 && whole) {
            result = follow_rest(&w, machine);
        }
    }
    free(w.states);
    free(w.jumped);
    free(w.called);
    return result ? result : (int64_t)w.n;
}
