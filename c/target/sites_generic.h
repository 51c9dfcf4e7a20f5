/*
 * Probe sites on other 64-bit processors: one nop in a compiled function for each probe.
 *
 * - The result is the one of c/target/sites.c on x86-64 and aarch64, but the compiler chooses the
 *   registers of the arguments.
 * - Each site is a function of its own, which no compiler inlines, clones or merges: its assembly
 *   text is unique, and its address is taken.
 */
#ifndef PYUSDT_SITES_GENERIC_H
#define PYUSDT_SITES_GENERIC_H

#if defined(__clang__)
#define PYUSDT_SITE_FUNCTION __attribute__((noinline, used, visibility("protected")))
#else
#define PYUSDT_SITE_FUNCTION __attribute__((noipa, used, visibility("protected")))
#endif

#if defined(__s390__)
#define PYUSDT_NOP "nop 0\n"
#else
#define PYUSDT_NOP "nop\n"
#endif

#define PYUSDT_OPERAND(size, n) size "@%" #n

/* In the file, for the kernel finds a semaphore by its offset there, and writable. */
uint16_t pyusdt_semaphores[PYUSDT_PROBE_COUNT] __attribute__((section(".probes"), used)) = {0};

/* clang-format off */
#define PYUSDT_PROBE(index, note_name, function, operands)                                                            \
    PYUSDT_SITE_FUNCTION void function(const uint64_t *values);                                                       \
    PYUSDT_SITE_FUNCTION void function(const uint64_t *values)                                                        \
    {                                                                                                                 \
        __asm__ volatile("990: " PYUSDT_NOP                                                                           \
                         ".pushsection .note.stapsdt, \"\", %%note\n"                                                 \
                         ".balign 4\n"                                                                                \
                         ".4byte 992f - 991f, 994f - 993f, 3\n"                                                       \
                         "991: .asciz \"stapsdt\"\n"                                                                  \
                         "992: .balign 4\n"                                                                           \
                         "993: .8byte 990b, _.stapsdt.base, pyusdt_semaphores + 2 * " #index "\n"                     \
                         ".asciz \"" PYUSDT_PROVIDER "\", \"" note_name "\", \"" operands "\"\n"                      \
                         "994: .balign 4\n"                                                                           \
                         ".popsection\n"                                                                              \
                         ".pushsection .stapsdt.base, \"aG\", %%progbits, .stapsdt.base, comdat\n"                    \
                         ".ifndef _.stapsdt.base\n"                                                                   \
                         ".weak _.stapsdt.base\n"                                                                     \
                         ".hidden _.stapsdt.base\n"                                                                   \
                         "_.stapsdt.base: .space 1\n"                                                                 \
                         ".size _.stapsdt.base, 1\n"                                                                  \
                         ".endif\n"                                                                                   \
                         ".popsection\n"                                                                              \
                         :                                                                                            \
                         : "r"(values[0]), "r"(values[1]), "r"(values[2]), "r"(values[3]), "r"(values[4]),            \
                           "r"(values[5]), "r"(values[6]), "r"(values[7]), "r"(values[8]), "r"(values[9]));           \
    }
/* clang-format on */
#include "generated/user_trace.inc"
#undef PYUSDT_PROBE

void pyusdt_site_hit(unsigned probe, const uint64_t *values)
{
    static void (*const sites[])(const uint64_t *) = {
#define PYUSDT_PROBE(index, note_name, function, operands) function,
#include "generated/user_trace.inc"
#undef PYUSDT_PROBE
    };
    sites[probe](values);
}

#endif
