/* Runs a decoded program. */
#ifndef PYUSDT_BPF_INTERPRETER_H
#define PYUSDT_BPF_INTERPRETER_H

#include <stdint.h>

struct pyusdt_program;
struct pyusdt_run;

int pyusdt_run(struct pyusdt_run *run, const struct pyusdt_program *program, uint64_t *r0);
const void *const *pyusdt_run_handlers(void); /* by enum pyusdt_opcode, then by enum pyusdt_fused */

#endif
