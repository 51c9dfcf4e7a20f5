/* The helpers that a program can call. */
#ifndef PYUSDT_BPF_HELPERS_H
#define PYUSDT_BPF_HELPERS_H

#include <stdint.h>
#include "generated/bpf_opcodes.h"

struct pyusdt_run;

/* The rows of the helper table (helpers.c). */
enum pyusdt_helper {
#define X(ident, number) PYUSDT_HELPER_##ident,
    PYUSDT_BPF_HELPERS(X)
#undef X
        PYUSDT_HELPERS
};

/* Index in that table of a helper's number, or -1. */
int pyusdt_helper_index(int32_t number);

/* args: r1 … r5; returns r0.  Sets run->error where the call itself is wrong (what the kernel's
 * verifier would have refused), which ends the program. */
typedef uint64_t pyusdt_helper_fn(struct pyusdt_run *run, const uint64_t *args);
extern pyusdt_helper_fn *const pyusdt_helpers[];

#endif
