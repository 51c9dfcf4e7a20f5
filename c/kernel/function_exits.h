/*
 * Where control leaves a function, for probes at returns.
 *
 * Exits are found by following the code from its beginning, with the depth of the stack.  A jump that leaves the function ends it
 * only where the stack is as at its beginning: elsewhere the function goes on there (a part that the compiler has put apart).  Code
 * that nothing leads to (the cases of a switch, landing pads of exceptions) is taken to have the frame of the code before it.
 */
#ifndef PYUSDT_KERNEL_FUNCTION_EXITS_H
#define PYUSDT_KERNEL_FUNCTION_EXITS_H

#include <stddef.h>
#include <stdint.h>

/* What ends a function, or leads out of its bytes. */
enum pyusdt_exit_kind {
    PYUSDT_EXIT_RETURN,
    PYUSDT_EXIT_JUMP,    /* to `target` */
    PYUSDT_EXIT_POINTER, /* to where a register or memory says, with the stack as at the beginning */
    PYUSDT_EXIT_TABLE, /* the same, by the table at `target`, of `entry` bytes each: of a switch, or of functions */
    PYUSDT_EXIT_UNCLEAR, /* a jump whose nature is not known */
};

enum { PYUSDT_UNKNOWN_DEPTH = INT32_MIN };

/* offset: of the instruction; condition: under which it jumps, as the low half of the opcode says, or PYUSDT_ALWAYS; depth: bytes
 * that the function has on the stack, or PYUSDT_UNKNOWN_DEPTH. */
struct pyusdt_exit {
    uint64_t target;
    uint32_t offset;
    int32_t depth;
    uint8_t kind, condition, entry;
};

/* The exits of a function or a part of one.  address: of the first byte; depth: of the stack there; whole: all of the bytes are the
 * function's, else what its first instruction leads to.  How many there are, of which the first `room` are in `exits`; -EINVAL:
 * an instruction is not known; -ENOTSUP: neither is the machine; -ENOMEM. */
int64_t pyusdt_find_function_exits(int machine, const uint8_t *code, size_t size, uint64_t address,
                                   int32_t depth, int whole, struct pyusdt_exit *exits,
                                   size_t room);

#endif
