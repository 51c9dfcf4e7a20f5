/* Runs bytecode cases for test_bytecode_cases.py: requests on stdin, what happened on stdout, as text.
 *
 * A request is u32s and bytes in the host's order: number of maps, 4 u32s each; number of slots,
 * 8 bytes each; then four blocks, a u32 length and the bytes: context, user memory (readable at
 * USER_BASE), value of element 0 of map 0, and the step limit.  The answer's last line is "end".  With an argument no
 * sequence of instructions runs as one operation (c/bpf/superinstructions.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/vm.h"
#include "fusing.h"

#define USER_BASE 0x10000u
#define NOW 1234567890123u

struct block {
    uint32_t size;
    uint8_t *data; /* of exactly that size, for ASan */
};

static bool read_exactly(void *into, size_t size)
{
    return fread(into, 1, size, stdin) == size;
}

static uint32_t read_u32(void)
{
    uint32_t value;
    if (!read_exactly(&value, sizeof value))
        exit(2);
    return value;
}

static struct block read_block(uint32_t size)
{
    struct block block = {size, malloc(size)};
    if (size && (!block.data || !read_exactly(block.data, size)))
        exit(2);
    return block;
}

static void print_hex(const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        printf("%02x", ((const uint8_t *)data)[i]);
}

static int read_user(void *arg, uint64_t addr, void *dst, uint32_t size, int string)
{
    const struct block *user = arg;
    uint64_t start = addr - USER_BASE;
    if (start >= user->size)
        return -EFAULT;
    uint64_t left = user->size - start;
    if (!string) {
        if (size > left)
            return -EFAULT;
        memcpy(dst, user->data + start, size);
        return (int)size;
    }
    size_t length = strnlen((const char *)user->data + start, left < size - 1 ? left : size - 1);
    memcpy(dst, user->data + start, length);
    ((char *)dst)[length] = 0;
    return (int)length + 1;
}

static int output(void *arg, const void *record, uint32_t size)
{
    (void)arg;
    printf("output ");
    print_hex(record, size);
    printf("\n");
    return 0;
}

static uint64_t now(void *arg)
{
    (void)arg;
    return NOW;
}

static void print_maps(struct pyusdt_vm *vm, const struct pyusdt_map_def *maps, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t cursor = 0;
        const void *key;
        void *value = pyusdt_vm_map_value(vm, i, 0);
        bool array = maps[i].kind == PYUSDT_MAP_ARRAY || maps[i].kind == PYUSDT_MAP_PERCPU_ARRAY;
        if (array && value) {
            printf("array %u ", i);
            print_hex(value, maps[i].value_size);
            printf("\n");
        }
        while (pyusdt_vm_map_next(vm, i, &cursor, &key, &value)) {
            printf("element %u ", i);
            print_hex(key, maps[i].key_size);
            printf(" ");
            print_hex(value, maps[i].value_size);
            printf("\n");
        }
    }
}

static void print_fused(void)
{
    static const char *const names[] = {
#define X(ident, slots) #ident,
        PYUSDT_FUSED_OPS(X)
#undef X
    };
    for (unsigned i = 0; i < PYUSDT_FUSED; i++)
        if (fused[i])
            printf("fused %s %u\n", names[i], fused[i]);
}

static void run(struct pyusdt_vm *vm, int id, struct block context, struct block user,
                uint32_t step_limit)
{
    uint64_t r0 = 0;
    struct pyusdt_vm_env env = {
        .read_user = read_user,
        .output = output,
        .time = now,
        .arg = &user,
        .context = context.size ? context.data : NULL,
        .context_size = context.size,
        .step_limit = step_limit,
    };
    int rc = pyusdt_vm_run(vm, id, &env, &r0);
    printf("run %d %" PRIu64 " %u %" PRIu64 " %u\n", rc, r0, env.fault_pc, env.fault_addr,
           env.fault_size);
}

static void one_case(uint32_t n_maps)
{
    struct block maps = read_block(n_maps * sizeof(struct pyusdt_map_def));
    const struct pyusdt_map_def *defs = (const void *)maps.data;
    uint32_t n_insns = read_u32();
    struct block code = read_block(n_insns * 8);
    struct block context = read_block(read_u32());
    struct block user = read_block(read_u32());
    struct block state = read_block(read_u32());
    uint32_t step_limit = read_u32();
    struct pyusdt_error error;
    struct pyusdt_vm *vm = pyusdt_vm_new(defs, n_maps, &error);
    if (!vm) {
        printf("maps %d %s\n", error.code, error.message);
    } else {
        int id = pyusdt_vm_load(vm, (const void *)code.data, n_insns, &error);
        printf("load %d %s\n", id, id < 0 ? error.message : "");
        if (id >= 0)
            print_fused();
        if (id >= 0 && !pyusdt_vm_reads_state(vm, id))
            printf("blind\n");
        if (state.size)
            memcpy(pyusdt_vm_map_value(vm, 0, 0), state.data, state.size);
        if (id >= 0)
            run(vm, id, context, user, step_limit);
        print_maps(vm, defs, n_maps);
    }
    printf("end\n");
    pyusdt_vm_free(vm);
    free(maps.data);
    free(code.data);
    free(context.data);
    free(user.data);
    free(state.data);
}

int main(int argc, char **argv)
{
    uint32_t n_maps;
    (void)argv;
    fusing = argc == 1;
    while (read_exactly(&n_maps, sizeof n_maps))
        one_case(n_maps);
    return 0;
}
