/* What the interpreter's files share: the vm, a run of it, and the check of every memory access. */
#ifndef PYUSDT_BPF_VM_INTERNAL_H
#define PYUSDT_BPF_VM_INTERNAL_H

#include "bpf/decoded_program.h"
#include "bpf/map.h"

struct pyusdt_vm {
    struct pyusdt_map *maps;
    unsigned n_maps, n_programs;
    struct pyusdt_program *programs;
    struct pyusdt_map *last; /* where the last access that missed state block and stack was */
    uint64_t *state;         /* array map 0's values, in front of all other checks … */
    uint64_t state_slack;    /* … and their bytes - 8 */
    uint64_t no_state;       /* stands for them where map 0 is no array */
    uint64_t stack[PYUSDT_VM_FRAMES * PYUSDT_VM_STACK / 8];
};

struct pyusdt_run {
    struct pyusdt_vm *vm;
    struct pyusdt_vm_env *env;
    uintptr_t stack_low,
        stack_top; /* what the running function may reach: its own stack and its callers' */
    int error;     /* a helper's: ends the run */
};

/* The accesses that miss state block and stack: maps, the context.  NULL: none, and run->error is set. */
uint8_t *pyusdt_run_search(struct pyusdt_run *run, uint64_t addr, uint64_t size, bool write);

static inline bool pyusdt_inside(uint64_t addr, uint64_t size, uintptr_t low, uintptr_t high)
{
    return addr >= low && addr <= high && size <= high - addr;
}

/* Whether the state block has `size` bytes there. */
static inline bool pyusdt_in_state(const struct pyusdt_run *run, uint64_t addr, uint64_t size)
{
    uintptr_t state = (uintptr_t)run->vm->state;
    return pyusdt_inside(addr, size, state, state + run->vm->state_slack + 8);
}

static inline bool pyusdt_in_map(const struct pyusdt_map *map, uint64_t addr, uint64_t size)
{
    return pyusdt_inside(addr, size, (uintptr_t)map->values, (uintptr_t)map->values_end);
}

/* Address of `size` bytes, not 0, that the program may read, or write; NULL: none, and run->error is set. */
static inline uint8_t *pyusdt_run_memory(struct pyusdt_run *run, uint64_t addr, uint64_t size,
                                         bool write)
{
    if (pyusdt_inside(addr, size, run->stack_low, run->stack_top) ||
        pyusdt_in_state(run, addr, size))
        return (uint8_t *)(uintptr_t)addr;
    return pyusdt_run_search(run, addr, size, write);
}

/* The same for the 1 to 8 bytes of an instruction, by far the most: the state block first. */
static inline uint8_t *pyusdt_run_access(struct pyusdt_run *run, uint64_t addr, unsigned size,
                                         bool write)
{
    uintptr_t state = (uintptr_t)run->vm->state;
    if (__builtin_expect(addr - state <= run->vm->state_slack + (8 - size), 1))
        return (uint8_t *)(uintptr_t)addr;
    if (addr >= run->stack_low && addr <= run->stack_top - size)
        return (uint8_t *)(uintptr_t)addr;
    if (pyusdt_in_map(run->vm->last, addr, size))
        return (uint8_t *)(uintptr_t)addr;
    return pyusdt_run_search(run, addr, size, write);
}

#endif
