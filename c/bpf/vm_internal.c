/* The memory accesses that vm_internal.h does not answer itself. */
#include "bpf/vm_internal.h"

uint8_t *pyusdt_run_search(struct pyusdt_run *run, uint64_t addr, uint64_t size, bool write)
{
    struct pyusdt_vm *vm = run->vm;
    const struct pyusdt_vm_env *env = run->env;
    for (unsigned i = 0; i < vm->n_maps; i++) {
        if (pyusdt_in_map(&vm->maps[i], addr, size)) {
            vm->last = &vm->maps[i];
            return (uint8_t *)(uintptr_t)addr;
        }
    }
    if (!write && pyusdt_inside(addr, size, (uintptr_t)env->context,
                                (uintptr_t)env->context + env->context_size))
        return (uint8_t *)(uintptr_t)addr;
    run->error = -EFAULT;
    run->env->fault_addr = addr;
    run->env->fault_size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    return NULL;
}
