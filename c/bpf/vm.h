/* The eBPF interpreter: runs compiled D programs in the tracer.
 *
 * In: maps, then programs (struct pyusdt_insn, the kernel's encoding), then runs of them.
 * Out: what the programs leave in the maps and hand to env->output.
 * Always: a program that was loaded reads and writes nothing but its context, its stack and the
 * maps' values, and ends: anything else stops it with an error code.  One vm belongs to one thread
 * at a time; it has no global state.
 *
 * Semantics are Linux's (RFC 9669, what Linux 5.15 has): x / 0 = 0, x % 0 = x, shifts are masked,
 * 32-bit operations clear the upper half.  Differences: per-CPU maps have one instance; atomics
 * need no alignment; reads of registers and stack that were never written give 0.
 */
#ifndef PYUSDT_BPF_VM_H
#define PYUSDT_BPF_VM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"
#include "generated/bpf_opcodes.h"

enum pyusdt_map_kind { /* Linux's numbers: PYUSDT_MAP_HASH, PYUSDT_MAP_ARRAY, … */
#define X(name, number, hashed) PYUSDT_MAP_##name = number,
                       PYUSDT_BPF_MAP_KINDS(X)
#undef X
};

struct pyusdt_map_def {
    uint32_t kind;
    uint32_t key_size;   /* arrays: 4; ringbuf: 0 */
    uint32_t value_size; /* ringbuf: 0 */
    uint32_t entries;    /* the bound on elements; ringbuf: bytes */
};

struct pyusdt_insn { /* one slot, as in struct bpf_insn */
    uint8_t opcode;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint8_t dst : 4, src : 4;
#else
    uint8_t src : 4, dst : 4;
#endif
    int16_t off;
    int32_t imm;
};

struct pyusdt_vm;

enum { PYUSDT_READ_BYTES, PYUSDT_READ_STRING, PYUSDT_READ_REST };

struct pyusdt_vm_env {
    /* The traced process's memory: copy `size` bytes at addr to dst; or (PYUSDT_READ_STRING) at most
     * size bytes, of which the last is NUL; or (PYUSDT_READ_REST) at most as many as are known of what lies there.
     * Returns the bytes copied (with the NUL), or -EFAULT. */
    int (*read_user)(void *arg, uint64_t addr, void *dst, uint32_t size, int how);
    int (*output)(void *arg, const void *record,
                  uint32_t size); /* ringbuf_output's return value: 0 or -errno */
    uint64_t (*time)(void *arg);  /* ktime_get_ns; NULL: CLOCK_MONOTONIC */
    void *arg;
    const void *context; /* what r1 points at, read only; NULL: r1 is 0 */
    uint32_t context_size;
    uint32_t
        step_limit; /* bound on the instructions of a run, beyond one pass through it; 0: PYUSDT_VM_STEPS */
    /* out, when a run fails: */
    uint32_t fault_pc;   /* slot of the instruction */
    uint32_t fault_size; /* bytes of the refused access */
    uint64_t fault_addr; /* -EFAULT: the address */
};

#define PYUSDT_VM_STEPS 1000000u
#define PYUSDT_VM_STACK 512u   /* bytes of stack of one function */
#define PYUSDT_VM_FRAMES 8u    /* functions active at once */
#define PYUSDT_VM_INSNS 65536u /* slots of one program */

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
