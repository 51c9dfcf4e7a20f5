/* Random programs through the loader and the interpreter, under ASan and UBSan.
 *
 *     fuzz SECONDS SEED
 *
 * A program is made of the table's instructions, mostly well-formed, with pointers to all that a
 * program may touch in its registers and offsets around the edges; some get a random byte.  The
 * sanitizers see an access outside (arena.h); checked here: a run ends, the context and the vm
 * itself are as before, the hash maps still count what they hold, and the same comes of it where each
 * instruction runs by itself (c/bpf/superinstructions.h), from the same state on.  Prints what it did.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arena.h"
#include "bpf/program.h"
#include "bpf/vm.h"
#include "bpf/vm_internal.h"
#include "fusing.h"

enum {
    BODY = 64,
    OVER = 64,
    LIBRARY = 64,
    SLOTS = BODY + OVER + LIBRARY,
    CONTEXT = 24,
    STEPS = 3000
};

static const struct pyusdt_map_def maps[] = {
    {PYUSDT_MAP_ARRAY, 4, 72, 1},        {PYUSDT_MAP_ARRAY, 4, 40, 1},
    {PYUSDT_MAP_PERCPU_ARRAY, 4, 12, 3}, {PYUSDT_MAP_HASH, 8, 24, 5},
    {PYUSDT_MAP_PERCPU_HASH, 12, 8, 3},  {PYUSDT_MAP_RINGBUF, 0, 0, 4096},
};
enum { MAPS = sizeof maps / sizeof *maps };

static const struct {
    const char *name;
    uint8_t opcode, sub, size;
} rows[] = {
#define X(ident, opcode, sub, form, size) {#ident, opcode, sub, size},
    PYUSDT_BPF_INSNS(X)
#undef X
};

static const int32_t numbers[] = {
#define X(ident, number) number,
    PYUSDT_BPF_HELPERS(X)
#undef X
};

static struct pyusdt_insn code[SLOTS];
static unsigned n;

static void emit(uint8_t opcode, unsigned dst, unsigned src, int off, int32_t imm)
{
    code[n].opcode = opcode;
    code[n].dst = dst & 15;
    code[n].src = src & 15;
    code[n].off = (int16_t)off;
    code[n++].imm = imm;
}

static int32_t some_imm(void)
{
    static const int32_t values[] = {0,  1,  -1, 2,  3,  4,  5,  7,  8,    -8,        12,
                                     16, 23, 24, 31, 32, 40, 63, 72, -512, INT32_MIN, INT32_MAX};
    return below(8) ? values[below(sizeof values / sizeof *values)] : (int32_t)random64();
}

static int some_off(void)
{
    static const int sizes[] = {0, 8, 12, 16, 24, 36, 40, 72, 120, -512, -8, -16, -24, -504};
    return sizes[below(sizeof sizes / sizeof *sizes)] + (int)below(19) - 9;
}

/* A register with a pointer: to a map's value, found or looked up, to the stack, or to a map. */
static void emit_pointer(void)
{
    unsigned reg = below(10), map = below(MAPS), key = 8 * (1 + below(3));
    switch (below(4)) {
    case 0: /* lddw pseudo map value */
        emit(0x18, reg, 2, 0, (int32_t)below(2));
        emit(0, 0, 0, 0, below(2) ? 0 : (int32_t)below(40));
        break;
    case 1: /* the stack */
        emit(0xbf, reg, 10, 0, 0);
        emit(0x07, reg, 0, 0, -(int32_t)below(530));
        break;
    default: /* key on the stack; update or look up; keep the result */
        emit(0x7a, 10, 0, -(int)key, (int32_t)below(6));
        emit(0x18, 1, 1, 0, (int32_t)map);
        emit(0, 0, 0, 0, 0);
        emit(0xbf, 2, 10, 0, 0);
        emit(0x07, 2, 0, 0, -(int32_t)key);
        emit(0xbf, 3, below(2) ? 10 : 2, 0, 0);
        emit(0x07, 3, 0, 0, -(int32_t)(72 + below(8)));
        emit(0x85, 0, 0, 0, below(3) ? 1 : 1 + (int32_t)below(3));
        emit(0xbf, reg, 0, 0, 0);
    }
}

static void emit_sum(unsigned reg)
{
    emit(0xbf, reg, below(11), 0, 0);
    emit(0x07, reg, 0, 0, below(4) ? some_off() : some_imm());
}

static void emit_map(unsigned map)
{
    emit(0x18, 1, 1, 0, (int32_t)map);
    emit(0, 0, 0, 0, 0);
}

/* STRING, or the same with other registers, at times with LOOKUP behind it. */
static void emit_string(void)
{
    unsigned base = 6 + below(4), kept = below(8) ? 6 + below(4) : below(10);
    int32_t size = below(8) ? 8 * (int32_t)(1 + below(3)) : (int32_t)below(48), to = some_off();

    emit(0x18, base, 2, 0, 0);
    emit(0, 0, 0, 0, 0);
    emit_sum(3);
    emit(0xbf, 1, base, 0, 0);
    emit(0x07, 1, 0, 0, to);
    emit(0xb7, 2, 0, 0, size);
    emit(0x85, 0, 0, 0, 113);
    emit(0x79, 0, below(4) ? base : 6 + below(5), below(4) ? some_off() : to + (int)below(24) - 8,
         0);
    emit(0xbf, kept, 0, 0, 0);
    emit(0xb7, 2, 0, 0, below(8) ? size : 8);
    emit(0xbf, 1, below(8) ? base : 6 + below(5), 0, 0);
    emit(0x07, 1, 0, 0, below(8) ? to : some_off());
    emit(0xbf, 3, below(8) ? kept : 6 + below(4), 0, 0);
    emit(0x85, 0, 0, 0, 114);
    if (below(2))
        return;
    emit(0xc5, 0, 0, (int)below(8), 0);
    emit_map(below(MAPS));
    emit(0xbf, 2, base, 0, 0);
    emit(0x07, 2, 0, 0, below(8) ? to : some_off());
    emit(0x85, 0, 0, 0, 1);
}

/* What superinstructions.h knows, with anything in the places that it leaves open. */
static void emit_sequence(void)
{
    int off = some_off();
    switch (below(11)) {
    case 0:
        emit(0x7a, 10, 0, -8, 0);
        emit_map(below(8) ? 0 : below(MAPS));
        emit(0xbf, 2, 10, 0, 0);
        emit(0x07, 2, 0, 0, -8);
        emit(0x85, 0, 0, 0, 1);
        emit(0x55, 0, 0, 1, 0);
        emit(0x95, 0, 0, 0, 0);
        emit(0xbf, 6, 0, 0, 0);
        break;
    case 1:
        emit_map(below(MAPS));
        emit_sum(2);
        emit(0x85, 0, 0, 0, 1);
        break;
    case 2:
        emit_sum(3);
        emit_sum(1);
        emit(0xb7, 2, 0, 0, (int32_t)below(48));
        emit(0x85, 0, 0, 0, 113);
        break;
    case 3:
        emit(0xb7, 2, 0, 0, (int32_t)below(48));
        emit_sum(1);
        emit(0xbf, 3, below(11), 0, 0);
        emit(0x85, 0, 0, 0, 114);
        break;
    case 4:
        emit(0x79, 1, 0, off, 0);
        emit(0x0f, 1, below(11), 0, 0);
        emit(0x7b, 0, 1, below(8) ? off : some_off(), 0);
        break;
    case 5:
        emit(0x79, 1, 0, off, 0);
        emit(0x07, 1, 0, 0, some_imm());
        emit(0x7b, 0, 1, below(8) ? off : some_off(), 0);
        break;
    case 6:
        emit(0x18, 1, 2, 0, (int32_t)below(2));
        emit(0, 0, 0, 0, off);
        emit(0xb7, 2, 0, 0, some_imm());
        emit(0xdb, 1, 2, 0, 0);
        break;
    case 7:
        emit_string();
        break;
    case 8:
        emit(0xbf, 1, below(10), 0, 0);
        emit(0x25, 1, 0, (int)below(8), some_imm());
        emit(0x0f, 0, 1, 0, 0);
        emit(0x79, 1, 0, off, 0);
        emit(0x07, 1, 0, 0, some_imm());
        emit(0x7b, 0, 1, off, 0);
        break;
    case 9:
        emit(0x18, 0, 2, 0, 0);
        emit(0, 0, 0, 0, off);
        emit(0x79, 0, 0, 0, 0);
        emit(0x07, 0, 0, 0, some_imm());
        emit(0x18, 1, 2, 0, (int32_t)(below(8) == 0));
        emit(0, 0, 0, 0, below(8) ? off : some_off());
        emit(0x7b, 1, 0, 0, 0);
        break;
    default:
        emit(0x79, 1, 0, off, 0);
        emit(0xbf, 2, 1, 0, 0);
        emit(0x07, 2, 0, 0, some_imm());
        emit(0x7b, 0, 2, below(8) ? off : some_off(), 0);
    }
}

/* r1 to r3 behind a call are nobody's: after quantize_bucket they depend on how it ran. */
static void emit_call(void)
{
    emit(0x85, 0, 1, 0, 0); /* its target: fix_flow */
    for (unsigned reg = 1; reg <= 3; reg++)
        emit(0xb7, reg, 0, 0, 0);
}

static void emit_row(void)
{
    unsigned row = below(sizeof rows / sizeof *rows), dst = below(10), src = below(11);
    uint8_t opcode = rows[row].opcode, class = opcode & 7;
    if (opcode == 0x18) {
        emit_pointer();
    } else if (opcode == 0x85) {
        if (rows[row].sub)
            emit_call();
        else
            emit(opcode, 0, 0, 0, numbers[below(sizeof numbers / sizeof *numbers)]);
    } else if (opcode == 0x95) {
        emit(opcode, 0, 0, 0, 0);
    } else if (opcode == 0x05) {
        emit(opcode, 0, 0, (int)below(16) - 4, 0);
    } else if (class == 5 || class == 6) {
        emit(opcode, below(11), opcode & 8 ? src : 0, (int)below(16) - 4,
             opcode & 8 ? 0 : some_imm());
    } else if (rows[row].size) {
        bool atomic = (opcode & 0xe0) == 0xc0;
        emit(opcode, class == 1 ? dst : below(11), class == 2 ? 0 : src, some_off(),
             atomic       ? rows[row].sub
             : class == 2 ? some_imm()
                          : 0);
    } else if ((opcode & 0xf0) == 0xd0) {
        emit(opcode, dst, 0, 0, rows[row].sub);
    } else if ((opcode & 0xf0) == 0x80) {
        emit(opcode, dst, 0, 0, 0);
    } else {
        emit(opcode, dst, opcode & 8 ? src : 0, 0,
             opcode & 8 ? 0
             : below(3) ? some_imm() & 31
                        : some_imm());
    }
}

/* Calls go to the functions; most jumps that leave their function, or land inside of an instruction, go on instead. */
static void fix_flow(const unsigned *starts, unsigned functions)
{
    unsigned function = 0;
    for (unsigned slot = 0; slot < n; slot++) {
        uint8_t class = code[slot].opcode & 7, op = code[slot].opcode & 0xf0;
        while (slot >= starts[function + 1])
            function++;
        if (code[slot].opcode == 0x18) {
            slot++;
        } else if (code[slot].opcode == 0x85 && code[slot].src == 1) {
            code[slot].imm = (int32_t)(starts[below(functions)] - slot) - 1;
        } else if ((class == 5 && op < 0x80) || (class == 5 && op > 0x90) || class == 6) {
            int target = (int)slot + 1 + code[slot].off;
            bool inside = target >= (int)starts[function] && target < (int)starts[function + 1];
            if ((!inside || code[target].opcode == 0) && below(64))
                code[slot].off = 0;
        }
    }
}

static void make_program(void)
{
    static const struct pyusdt_insn library[] = {PYUSDT_BPF_QUANTIZE_BUCKET};
    unsigned starts[6] = {0}, functions = 1 + below(4);
    bool broken = below(8) == 0;
    memset(code, 0, sizeof code);
    n = 0;
    for (unsigned i = 0; i < functions; i++) {
        unsigned end = n + 1 + below(BODY / functions);
        starts[i] = n;
        while (n < end)
            below(6) ? emit_row() : below(2) ? emit_sequence() : emit_pointer();
        emit(0x95, 0, 0, 0, 0);
    }
    starts[functions] = n;
    if (!broken) {
        memcpy(code + n, library, sizeof library);
        starts[++functions] = n += sizeof library / sizeof *library;
    }
    fix_flow(starts, functions);
    if (broken) {
        uint8_t *bytes = (uint8_t *)code;
        bytes[below(n * 8)] = (uint8_t)random64();
    }
}

static int read_user(void *arg, uint64_t addr, void *dst, uint32_t size, int string)
{
    (void)arg;
    if (addr & 1)
        return -EFAULT;
    if (string)
        size = 1 + (uint32_t)(addr >> 1) % size;
    memset(dst, 'x', size);
    if (string)
        ((char *)dst)[size - 1] = 0;
    return (int)size;
}

static int output(void *arg, const void *record, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        *(uint8_t *)arg ^= ((const uint8_t *)record)[i];
    return 0;
}

static uint64_t now(void *arg)
{
    (void)arg;
    return 1234567890123;
}

static void check(bool right, const char *what, unsigned long runs)
{
    if (right)
        return;
    fprintf(stderr, "%s, in run %lu\n", what, runs);
    abort();
}

/* All that a run can change, and what it says. */
struct state {
    struct pyusdt_map map[MAPS];
    uint8_t values[MAPS][128], nodes[MAPS][256], buckets[MAPS][1024];
    uint8_t sum;
};
struct outcome {
    int rc;
    uint64_t r0;
    struct pyusdt_vm_env env;
    struct state state;
};

static void copy(void *to, const void *from, uint64_t size, uint64_t room)
{
    if (size > room)
        abort();
    if (size)
        memcpy(to, from, size);
}

static void save(const struct pyusdt_vm *vm, struct state *state)
{
    for (unsigned i = 0; i < MAPS; i++) {
        const struct pyusdt_map *map = &vm->maps[i];
        state->map[i] = *map;
        copy(state->values[i], map->values, (uint64_t)map->stride * map->def.entries,
             sizeof state->values[i]);
        copy(state->nodes[i], map->nodes, (uint64_t)map->node_size * map->def.entries,
             sizeof state->nodes[i]);
        copy(state->buckets[i], map->buckets, map->buckets ? 4 * (map->mask + 1) : 0,
             sizeof state->buckets[i]);
    }
}

static void restore(struct pyusdt_vm *vm, const struct state *state)
{
    for (unsigned i = 0; i < MAPS; i++) {
        struct pyusdt_map *map = &vm->maps[i];
        *map = state->map[i];
        copy(map->values, state->values[i], (uint64_t)map->stride * map->def.entries,
             sizeof state->values[i]);
        copy(map->nodes, state->nodes[i], (uint64_t)map->node_size * map->def.entries,
             sizeof state->nodes[i]);
        copy(map->buckets, state->buckets[i], map->buckets ? 4 * (map->mask + 1) : 0,
             sizeof state->buckets[i]);
    }
}

static void run_once(struct pyusdt_vm *vm, int program, uint32_t steps, const uint8_t *context,
                     struct outcome *out)
{
    memset(out, 0, sizeof *out);
    out->env = (struct pyusdt_vm_env){.read_user = read_user,
                                      .output = output,
                                      .time = now,
                                      .arg = &out->state.sum,
                                      .context = context,
                                      .context_size = CONTEXT,
                                      .step_limit = steps};
    out->rc = pyusdt_vm_run(vm, program, &out->env, &out->r0);
    save(vm, &out->state);
}

static bool is_same(const struct outcome *a, const struct outcome *b)
{
    bool place = a->rc == 0 || a->env.fault_pc == b->env.fault_pc;
    bool address = a->rc != -EFAULT || (a->env.fault_addr == b->env.fault_addr &&
                                        a->env.fault_size == b->env.fault_size);

    return a->rc == b->rc && (a->rc != 0 || a->r0 == b->r0) && place && address &&
           memcmp(&a->state, &b->state, sizeof a->state) == 0;
}

/* Of each program there are two: each instruction by itself, and as it is loaded. */
static void run_programs(struct pyusdt_vm *vm, unsigned programs, unsigned long *ended,
                         unsigned long *faults, unsigned long *loops, unsigned long run)
{
    static struct outcome plain, whole;
    static struct state start;
    uint8_t *context = malloc(CONTEXT),
            before[CONTEXT]; /* on the heap: read only, and exactly so large */
    memset(context, 0xc0, CONTEXT);
    memcpy(before, context, CONTEXT);
    for (unsigned i = 0; i < programs; i++) {
        struct pyusdt_vm was = *vm;
        uint32_t steps = below(4) ? STEPS : 1 + below(100);
        save(vm, &start);
        run_once(vm, 2 * (int)i, steps, context, &plain);
        restore(vm, &start);
        run_once(vm, 2 * (int)i + 1, steps, context, &whole);
        check(is_same(&plain, &whole), "a fused operation is another one", run);
        int rc = whole.rc;
        *(rc == 0 ? ended : rc == -EFAULT ? faults : loops) += 1;
        check(rc == 0 || rc == -EFAULT || rc == -ELOOP, "unknown result", run);
        check(memcmp(context, before, CONTEXT) == 0, "the context was written", run);
        was.last = vm->last;
        check(memcmp(&was, vm, offsetof(struct pyusdt_vm, stack)) == 0, "the vm was written", run);
        for (unsigned map = 0; map < MAPS; map++) {
            uint32_t cursor = 0, count = 0;
            const void *key;
            void *value;
            while (pyusdt_vm_map_next(vm, map, &cursor, &key, &value))
                check(pyusdt_vm_map_lookup(vm, map, key) == value && ++count, "a key is lost", run);
            check(count == pyusdt_vm_map_count(vm, map), "a map miscounts", run);
        }
    }
    free(context);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    unsigned long runs = 0, loaded = 0, ended = 0, faults = 0, loops = 0;
    time_t end = time(NULL) + atoi(argv[1]);
    random_state = strtoull(argv[2], NULL, 0) * 2 + 1;
    while (time(NULL) < end) {
        struct pyusdt_vm *vm = pyusdt_vm_new(maps, MAPS, NULL);
        unsigned programs = 0;
        for (int i = 0; i < 8; i++, runs++) {
            make_program();
            struct pyusdt_insn *exact = malloc(n * sizeof *exact);
            memcpy(exact, code, n * sizeof *exact);
            fusing = false;
            int plain = pyusdt_vm_load(vm, exact, n, NULL);
            fusing = true;
            check((plain < 0) == (pyusdt_vm_load(vm, exact, n, NULL) < 0), "it loads once", runs);
            programs += plain >= 0;
            free(exact);
        }
        run_programs(vm, programs, &ended, &faults, &loops, runs);
        loaded += programs;
        pyusdt_vm_free(vm);
    }
    printf("%lu programs, %lu loaded: %lu ended, %lu faults, %lu without end\n", runs, loaded,
           ended, faults, loops);
    return 0;
}
