/*
 * Checks a program in the kernel's encoding, and decodes it for the interpreter.
 *
 * - After a successful load every opcode is one of the table's and its unused fields are 0;
 *   register numbers are 0 … 10 and r10 is never written.
 * - Jumps stay in their function and land on the start of an instruction; every function ends in
 *   exit or a jump.
 * - Helpers, maps and callees exist; accesses through r10 itself stay in the function's own stack.
 * - What depends on values (addresses, loops) is checked when it runs.
 */
#ifndef PYUSDT_BPF_PROGRAM_H
#define PYUSDT_BPF_PROGRAM_H

#include "bpf/decoded_program.h"
#include "shared/error.h"

struct pyusdt_map;
int pyusdt_program_load(struct pyusdt_program *program, const struct pyusdt_insn *insns, unsigned n,
                        const struct pyusdt_map *maps, unsigned n_maps, const void *const *handlers,
                        struct pyusdt_error *err);
void pyusdt_program_destroy(struct pyusdt_program *program);

#endif
