/*
 * The probe sites of the built-in provider: functions, stapsdt notes and semaphores.
 *
 * generated/user_trace.inc has one PYUSDT_PROBE(index, note name, function, operands) for each
 * probe. In the linked object each probe has a .note.stapsdt entry (version 3) and a 16-bit
 * semaphore in .probes, in the order of user_trace.d.
 *
 * - Everything that tracers read is assembly in one statement, which compilers pass on unchanged:
 *   -O2, -O3 and LTO give the same bytes.
 * - The assembly refers to nothing that C defines, since LTO may move C elsewhere.
 * - The symbol of a site is exported, so that tools can name it in a stripped object.
 *
 * The description of a note has: the address of the site, the address of .stapsdt.base (tools
 * subtract it to find how far the object was moved after linking), the address of the semaphore;
 * then provider, probe and operands as text. An operand is size@register, and the size of a signed
 * integer is negative.
 */
#include "target/sites.h"

/* Which sites: the system's dtrace's, or our own assembly. PYUSDT_SITES_GENERIC is for testing the
 * generic sites on these processors. */
#if defined(PYUSDT_SITES_DTRACE)
#include "target/sites_dtrace.h"
#elif PYUSDT_SITES && !defined(PYUSDT_SITES_GENERIC) && defined(__x86_64__)
#include "target/sites_x86_64.h"
#elif PYUSDT_SITES && !defined(PYUSDT_SITES_GENERIC) && defined(__aarch64__)
#include "target/sites_aarch64.h"
#elif PYUSDT_SITES
#include "target/sites_generic.h"
#endif

#define PYUSDT_QUOTE_(x) #x
#define PYUSDT_QUOTE(x) PYUSDT_QUOTE_(x)

#if defined(PYUSDT_SITE_BODY)

#define PYUSDT_OPERAND(size, n) size "@" PYUSDT_REGISTER_##n

/* clang-format off */
__asm__(
    /* The macro of one site: its function, then its note. */
    ".macro pyusdt_site index, note_name, function, operands\n"
    "  .globl \\function\n"
    "  .protected \\function\n" /* exported, never replaced by another object's */
    "  .type \\function, %function\n"
    "\\function:\n"
    PYUSDT_SITE_BODY
    "  .size \\function, . - \\function\n"
    PYUSDT_SITE_FILL
    "  .pushsection .note.stapsdt, \"\", %note\n"
    "  .balign 4\n"
    "  .4byte 992f - 991f\n" /* length of the note's name */
    "  .4byte 994f - 993f\n" /* length of its description */
    "  .4byte 3\n"           /* version */
    "991:\n"
    "  .asciz \"stapsdt\"\n"
    "992:\n"
    "  .balign 4\n"
    "993:\n"
    "  .8byte 990b\n"
    "  .8byte _.stapsdt.base\n"
    "  .8byte pyusdt_semaphores + 2 * \\index\n"
    "  .asciz \"" PYUSDT_PROVIDER "\"\n"
    "  .asciz \"\\note_name\"\n"
    "  .asciz \"\\operands\"\n"
    "994:\n"
    "  .balign 4\n"
    "  .popsection\n"
    ".endm\n"

    /* The section that sys/sdt.h makes, under the same name and group: an object has one of it. */
    "  .pushsection .stapsdt.base, \"aG\", %progbits, .stapsdt.base, comdat\n"
    "  .weak _.stapsdt.base\n"
    "  .hidden _.stapsdt.base\n"
    "_.stapsdt.base:\n"
    "  .space 1\n"
    "  .size _.stapsdt.base, 1\n"
    "  .popsection\n"

    /* The semaphores, in the file (the kernel finds one by its offset there) and writable. */
    "  .pushsection .probes, \"aw\", %progbits\n"
    "  .balign 8\n"
    "  .globl pyusdt_semaphores\n"
    "  .hidden pyusdt_semaphores\n"
    "  .type pyusdt_semaphores, %object\n"
    "pyusdt_semaphores:\n"
    "  .space 2 * " PYUSDT_QUOTE(PYUSDT_PROBE_COUNT) "\n"
    "  .size pyusdt_semaphores, . - pyusdt_semaphores\n"
    "  .popsection\n"

    "  .pushsection .text\n"
    PYUSDT_SITES_BEGIN
    "  .cfi_startproc\n" /* one entry for all sites: none touches the stack */
#define PYUSDT_PROBE(index, note_name, function, operands) \
    "  pyusdt_site " #index ", " note_name ", " #function ", \"" operands "\"\n"
#include "generated/user_trace.inc"
#undef PYUSDT_PROBE
    "  .cfi_endproc\n"

    "  .p2align 4\n"
    "  .globl pyusdt_site_hit\n"
    "  .hidden pyusdt_site_hit\n"
    "  .type pyusdt_site_hit, %function\n"
    "pyusdt_site_hit:\n"
    "  .cfi_startproc\n"
    PYUSDT_SITE_HIT
    "  .cfi_endproc\n"
    "  .size pyusdt_site_hit, . - pyusdt_site_hit\n"

    /* The previous function ends here. */
    "  .globl pyusdt_site_call\n"
    "  .hidden pyusdt_site_call\n"
    "  .type pyusdt_site_call, %function\n"
    "pyusdt_site_call:\n"
    "  .cfi_startproc\n"
    PYUSDT_SITE_CALL
    "  .cfi_endproc\n"
    "  .size pyusdt_site_call, . - pyusdt_site_call\n"
    "  .popsection\n"
    "  .purgem pyusdt_site\n"
);
/* clang-format on */

#elif !PYUSDT_SITES

/* Without sites the semaphores stay 0, and the embedded engine works regardless. */
uint16_t pyusdt_semaphores[PYUSDT_PROBE_COUNT];

void pyusdt_site_hit(unsigned probe, const uint64_t *values)
{
    (void)probe;
    (void)values;
}

#endif

#if !PYUSDT_OBJECTS

/* There is no entry to call. */
void pyusdt_site_call(void (*entry)(void), const uint64_t *values)
{
    (void)entry;
    (void)values;
}

#endif
