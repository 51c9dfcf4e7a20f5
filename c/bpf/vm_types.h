/* Instructions and maps as a vm gets them, and its surroundings while a program runs. */
#ifndef PYUSDT_BPF_VM_TYPES_H
#define PYUSDT_BPF_VM_TYPES_H

#include <stdint.h>

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

#endif
