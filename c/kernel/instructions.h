/* Machine code of functions: where its instructions begin, and where control leaves a function.  For probes at offsets and at returns.
 *
 * In: a function's bytes, ELF's number of the processor (62 x86-64, 183 aarch64).  Out: offsets, exits.
 * Always: nothing outside of the bytes is read; what is not known ends the list of instructions, so that no probe is put into the
 * middle of one.
 * Source: Intel's Software Developer's Manual, volume 2, chapter 2 and appendix A; AMD's volume 3 for XOP; Arm's Architecture
 * Reference Manual, C4.1; for uprobes Linux's arch/x86/kernel/uprobes.c.
 *
 * Exits are found by following the code from its beginning, with the depth of the stack.  A jump that leaves the function ends it
 * only where the stack is as at its beginning: elsewhere the function goes on there (a part that the compiler has put apart).  Code
 * that nothing leads to (the cases of a switch, landing pads of exceptions) is taken to have the frame of the code before it. */
#ifndef PYUSDT_KERNEL_INSTRUCTIONS_H
#define PYUSDT_KERNEL_INSTRUCTIONS_H

#include <stddef.h>
#include <stdint.h>

enum { PYUSDT_X86_64 = 62, PYUSDT_AARCH64 = 183 };

/* What ends a function, or leads out of its bytes. */
enum pyusdt_exit_kind {
    PYUSDT_EXIT_RETURN,
    PYUSDT_EXIT_JUMP,    /* to `target` */
    PYUSDT_EXIT_POINTER, /* to where a register or memory says, with the stack as at the beginning */
    PYUSDT_EXIT_TABLE, /* the same, by the table at `target`, of `entry` bytes each: of a switch, or of functions */
    PYUSDT_EXIT_UNCLEAR, /* a jump whose nature is not known */
};

enum { PYUSDT_ALWAYS = 16, PYUSDT_UNKNOWN_DEPTH = INT32_MIN };

/* offset: of the instruction; condition: under which it jumps, as the low half of the opcode says, or PYUSDT_ALWAYS; depth: bytes
 * that the function has on the stack, or PYUSDT_UNKNOWN_DEPTH. */
struct pyusdt_exit {
    uint64_t target;
    uint32_t offset;
    int32_t depth;
    uint8_t kind, condition, entry;
};

/* Where the instructions begin: the first `room` of them into `offsets`; how many there are. */
size_t pyusdt_instructions(int machine, const uint8_t *code, size_t size, uint32_t *offsets,
                           size_t room);

/* Whether Linux's uprobes can be on the instruction at `code`, and leave what it does as it is; 1 where that is not known. */
int pyusdt_takes_uprobe(int machine, const uint8_t *code, size_t left);

/* The exits of a function or a part of one.  address: of the first byte; depth: of the stack there; whole: all of the bytes are the
 * function's, else what its first instruction leads to.  How many there are, of which the first `room` are in `exits`; -EINVAL:
 * an instruction is not known; -ENOTSUP: neither is the machine; -ENOMEM. */
int64_t pyusdt_exits(int machine, const uint8_t *code, size_t size, uint64_t address, int32_t depth,
                     int whole, struct pyusdt_exit *exits, size_t room);

/* A range of code, as an address and its number of bytes. */
struct pyusdt_range {
    uint64_t address, size;
};

/* The addresses inside of `functions` (ascending, `count`), but not at their beginnings, that jumps and calls of other functions lead to.
 * code: the bytes from `address` on.  How many there are, of which the first `room` are in `found`, each with the number of the function
 * that jumps there. */
size_t pyusdt_entered(int machine, const uint8_t *code, size_t size, uint64_t address,
                      const struct pyusdt_range *functions, size_t count,
                      struct pyusdt_range *found, size_t room);

#endif
