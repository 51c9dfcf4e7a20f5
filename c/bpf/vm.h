/*
 * The eBPF interpreter: runs compiled D programs in the tracer.
 *
 * - A loaded program reads and writes only its context, its stack and the maps' values, and ends:
 *   anything else stops it with an error code.
 * - One vm belongs to one thread at a time; it has no global state.
 * - Semantics are Linux's (RFC 9669, what Linux 5.15 has): x / 0 = 0, x % 0 = x, shifts are masked,
 *   32-bit operations clear the upper half.
 * - Differences: per-CPU maps have one instance; atomics need no alignment; reads of registers and
 *   stack that were never written give 0.
 */
#ifndef PYUSDT_BPF_VM_H
#define PYUSDT_BPF_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/vm_types.h"
#include "shared/error.h"

struct pyusdt_vm;

/* NULL: *err says why. */
struct pyusdt_vm *pyusdt_vm_new(const struct pyusdt_map_def *maps, unsigned n,
                                struct pyusdt_error *err);
void pyusdt_vm_free(struct pyusdt_vm *vm);

/* Check and prepare a program.  Returns its id (0, 1, …), or -EINVAL, -E2BIG, -ENOMEM. */
int pyusdt_vm_load(struct pyusdt_vm *vm, const struct pyusdt_insn *insns, unsigned n,
                   struct pyusdt_error *err);

/* False: what the program does is the same whatever the state block (element 0 of map 0) holds. */
bool pyusdt_vm_reads_state(const struct pyusdt_vm *vm, int program);

/* Returns 0 and the program's r0, or -EFAULT (an access outside), -ELOOP (step limit, or calls nested
 * too deep), -EINVAL (no such program). */
int pyusdt_vm_run(struct pyusdt_vm *vm, int program, struct pyusdt_vm_env *env, uint64_t *r0);

/* --- maps, for the engine and the consumer ------------------------------------------------------ */

/* Element `index` of an array map, or slot `index` of a hash map; NULL if there is none.  Element 0 of
 * map 0 is the state block.  Stays valid as long as the vm. */
void *pyusdt_vm_map_value(struct pyusdt_vm *vm, unsigned map, uint32_t index);

void *pyusdt_vm_map_lookup(struct pyusdt_vm *vm, unsigned map, const void *key);
int pyusdt_vm_map_update(struct pyusdt_vm *vm, unsigned map, const void *key, const void *value,
                         uint64_t flags);
int pyusdt_vm_map_delete(struct pyusdt_vm *vm, unsigned map, const void *key);

/* Elements of a hash map in order of their slots.  *cursor starts at 0; false: no more.  Deleting the
 * element just returned is allowed.  key and value point into the map. */
bool pyusdt_vm_map_next(struct pyusdt_vm *vm, unsigned map, uint32_t *cursor, const void **key,
                        void **value);
uint32_t pyusdt_vm_map_count(const struct pyusdt_vm *vm, unsigned map);
void pyusdt_vm_map_clear(struct pyusdt_vm *vm, unsigned map); /* arrays: zeroed; hashes: emptied */

#endif
