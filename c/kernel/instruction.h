/* One instruction, taken apart: what instructions.c tells function_exits.c.
 * In: bytes.  Out: its parts.  Always: checked, never past the end. */
#ifndef PYUSDT_KERNEL_INSTRUCTION_H
#define PYUSDT_KERNEL_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

enum {
    PYUSDT_ONE_BYTE = 1,
    PYUSDT_TWO_BYTES,
    PYUSDT_OTHER
}; /* opcodes: one byte; 0F and one; all others, vectors among them */

/* half: operands of 16 bits; notrack: prefix 3E; segment: that, 26, 2E or 36; vector: VEX, EVEX or XOP; immediate: sign-extended, 0
 * where it has 8 bytes. */
struct pyusdt_instruction {
    int64_t immediate, displacement;
    uint8_t size, map, opcode, rex, has_modrm, modrm, sib, half, short_address, notrack, lock,
        segment, vector;
};

/* Its size, 0: it is none, or cut off. */
int pyusdt_instruction_x86(const uint8_t *code, size_t left, struct pyusdt_instruction *it);

/* Of a direct jump: its condition (as struct pyusdt_exit has it, and PYUSDT_ALWAYS + 1 for one that no flags tell), and where it
 * leads; -1: it is none.  next: the address behind it. */
int pyusdt_jump_x86(const struct pyusdt_instruction *it, uint64_t next, uint64_t *target);
int pyusdt_jump_aarch64(uint32_t word, uint64_t address, uint64_t *target);

#endif
