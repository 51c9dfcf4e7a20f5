/*
 * Machine code: one instruction taken apart, and where the instructions of a function begin, for probes at offsets.
 *
 * - Nothing outside of the bytes is read.
 * - An unknown instruction ends the list, so that no probe is put into the middle of one.
 *
 * Source: Intel's Software Developer's Manual, volume 2, chapter 2 and appendix A; AMD's volume 3 for XOP; Arm's Architecture
 * Reference Manual, C4.1; for uprobes Linux's arch/x86/kernel/uprobes.c.
 */
#ifndef PYUSDT_KERNEL_INSTRUCTIONS_H
#define PYUSDT_KERNEL_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

enum { PYUSDT_X86_64 = 62, PYUSDT_AARCH64 = 183 }; /* ELF's numbers of processors */

enum { PYUSDT_ALWAYS = 16 }; /* a jump without a condition */

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

/* Where the instructions begin: the first `room` of them into `offsets`; how many there are. */
size_t pyusdt_find_instructions(int machine, const uint8_t *code, size_t size, uint32_t *offsets,
                                size_t room);

/* Whether Linux's uprobes can be on the instruction at `code`, and leave what it does as it is; 1 where that is not known. */
int pyusdt_can_take_uprobe(int machine, const uint8_t *code, size_t left);

/* A range of code, as an address and its number of bytes. */
struct pyusdt_range {
    uint64_t address, size;
};

/* The addresses inside of `functions` (ascending, `count`), but not at their beginnings, that jumps and calls of other functions lead to.
 * code: the bytes from `address` on.  How many there are, of which the first `room` are in `found`, each with the number of the function
 * that jumps there. */
size_t pyusdt_find_entered_functions(int machine, const uint8_t *code, size_t size,
                                     uint64_t address, const struct pyusdt_range *functions,
                                     size_t count, struct pyusdt_range *found, size_t room);

#endif
