/* For drivers that are linked with --wrap=pyusdt_fuse: fusing (c/bpf/superinstructions.h) can be switched off, and what it found in the
 * program that was loaded last is counted by operation. */
#include <string.h>

#include "bpf/superinstructions.h"

static bool fusing = true;
static unsigned fused[PYUSDT_FUSED];

void __real_pyusdt_fuse(struct pyusdt_program *program, const uint8_t *rows,
                        const struct pyusdt_insn *insns, const struct pyusdt_map *maps,
                        const void *const *handlers);
void __wrap_pyusdt_fuse(struct pyusdt_program *program, const uint8_t *rows,
                        const struct pyusdt_insn *insns, const struct pyusdt_map *maps,
                        const void *const *handlers);

void __wrap_pyusdt_fuse(struct pyusdt_program *program, const uint8_t *rows,
                        const struct pyusdt_insn *insns, const struct pyusdt_map *maps,
                        const void *const *handlers)
{
    memset(fused, 0, sizeof fused);
    if (!fusing)
        return;
    __real_pyusdt_fuse(program, rows, insns, maps, handlers);
    for (uint32_t slot = 0; slot < program->n_ops; slot++)
        for (unsigned i = 0; i < PYUSDT_FUSED; i++)
            fused[i] += program->ops[slot].handler == handlers[PYUSDT_OPS + i];
}
