/* The vm: its maps and programs, and the engine's and consumer's way to the maps (vm.h). */
#define _GNU_SOURCE
#include "bpf/vm.h"

#include "bpf/interpreter.h"
#include "bpf/program.h"
#include "bpf/vm_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/os.h"

static uint64_t random_seed(const void *fallback)
{
    uint64_t seed;
    if (pyusdt_os_random(&seed, sizeof seed) != 0)
        seed = (uintptr_t)fallback * 0x9e3779b97f4a7c15; /* still the address space's randomness */
    return seed;
}

struct pyusdt_vm *pyusdt_vm_new(const struct pyusdt_map_def *defs, unsigned n,
                                struct pyusdt_error *err)
{
    struct pyusdt_vm *vm = calloc(1, sizeof *vm);
    if (!vm || !(vm->maps = calloc(n ? n : 1, sizeof *vm->maps))) {
        free(vm);
        pyusdt_error_set(err, -ENOMEM, "no memory for %u maps", n);
        return NULL;
    }
    uint64_t seed = random_seed(vm);
    for (; vm->n_maps < n; vm->n_maps++) {
        struct pyusdt_error why;
        int rc = pyusdt_map_init(&vm->maps[vm->n_maps], &defs[vm->n_maps], seed, &why);
        if (rc) {
            pyusdt_error_set(err, rc, "map %u: %s", vm->n_maps, why.message);
            pyusdt_vm_free(vm);
            return NULL;
        }
    }
    vm->last = vm->maps;
    vm->state = &vm->no_state;
    if (n && !vm->maps[0].hashed && vm->maps[0].values) {
        vm->state = (uint64_t *)(void *)vm->maps[0].values;
        vm->state_slack = (uint64_t)(vm->maps[0].values_end - vm->maps[0].values) - 8;
    }
    return vm;
}

void pyusdt_vm_free(struct pyusdt_vm *vm)
{
    if (!vm)
        return;
    for (unsigned i = 0; i < vm->n_programs; i++)
        pyusdt_program_destroy(&vm->programs[i]);
    for (unsigned i = 0; i < vm->n_maps; i++)
        pyusdt_map_destroy(&vm->maps[i]);
    free(vm->programs);
    free(vm->maps);
    free(vm);
}

int pyusdt_vm_load(struct pyusdt_vm *vm, const struct pyusdt_insn *insns, unsigned n,
                   struct pyusdt_error *err)
{
    struct pyusdt_program *programs =
        realloc(vm->programs, (vm->n_programs + 1) * sizeof *programs);
    if (!programs)
        return pyusdt_error_set(err, -ENOMEM, "no memory for a program");
    vm->programs = programs;
    int rc = pyusdt_program_load(&programs[vm->n_programs], insns, n, vm->maps, vm->n_maps,
                                 pyusdt_run_handlers(), err);
    return rc ? rc : (int)vm->n_programs++;
}

bool pyusdt_vm_reads_state(const struct pyusdt_vm *vm, int program)
{
    return program < 0 || (unsigned)program >= vm->n_programs || !vm->programs[program].blind;
}

int pyusdt_vm_run(struct pyusdt_vm *vm, int program, struct pyusdt_vm_env *env, uint64_t *r0)
{
    struct pyusdt_run run = {.vm = vm, .env = env};
    if (program < 0 || (unsigned)program >= vm->n_programs)
        return -EINVAL;
    return pyusdt_run(&run, &vm->programs[program], r0);
}

/* --- maps --------------------------------------------------------------------------------------- */

void *pyusdt_vm_map_value(struct pyusdt_vm *vm, unsigned map, uint32_t index)
{
    if (map >= vm->n_maps)
        return NULL;
    const struct pyusdt_map *m = &vm->maps[map];
    uint64_t offset = (uint64_t)index * m->stride;
    return offset < (uint64_t)(m->values_end - m->values) ? m->values + offset : NULL;
}

void *pyusdt_vm_map_lookup(struct pyusdt_vm *vm, unsigned map, const void *key)
{
    return map < vm->n_maps ? pyusdt_map_lookup(&vm->maps[map], key) : NULL;
}

int pyusdt_vm_map_update(struct pyusdt_vm *vm, unsigned map, const void *key, const void *value,
                         uint64_t flags)
{
    return map < vm->n_maps ? pyusdt_map_update(&vm->maps[map], key, value, flags) : -EINVAL;
}

int pyusdt_vm_map_delete(struct pyusdt_vm *vm, unsigned map, const void *key)
{
    return map < vm->n_maps ? pyusdt_map_delete(&vm->maps[map], key) : -EINVAL;
}

bool pyusdt_vm_map_next(struct pyusdt_vm *vm, unsigned map, uint32_t *cursor, const void **key,
                        void **value)
{
    return map < vm->n_maps && pyusdt_map_next(&vm->maps[map], cursor, key, value);
}

uint32_t pyusdt_vm_map_count(const struct pyusdt_vm *vm, unsigned map)
{
    return map < vm->n_maps ? vm->maps[map].count : 0;
}

void pyusdt_vm_map_clear(struct pyusdt_vm *vm, unsigned map)
{
    if (map < vm->n_maps)
        pyusdt_map_clear(&vm->maps[map]);
}
