/*
 * The probe site on aarch64, for c/target/sites.c.
 *
 * A site is one nop. Sites are 16 bytes apart:
 *      16k     bti c           entry: sites are called indirectly, and the processor may check that
 *      16k+4   nop             the address in the note
 *      16k+8   ret
 */
#ifndef PYUSDT_SITES_AARCH64_H
#define PYUSDT_SITES_AARCH64_H

#define PYUSDT_REGISTER_0 "x0"
#define PYUSDT_REGISTER_1 "x1"
#define PYUSDT_REGISTER_2 "x2"
#define PYUSDT_REGISTER_3 "x3"
#define PYUSDT_REGISTER_4 "x4"
#define PYUSDT_REGISTER_5 "x5"
#define PYUSDT_REGISTER_6 "x6"
#define PYUSDT_REGISTER_7 "x7"
#define PYUSDT_REGISTER_8 "x8"
#define PYUSDT_REGISTER_9 "x9"
#define PYUSDT_REGISTER_10 "x10"
#define PYUSDT_REGISTER_11 "x11"

#define PYUSDT_SITES_BEGIN \
    "  .p2align 4\n" \
    "pyusdt_sites:\n"

#define PYUSDT_SITE_BODY \
    "  hint #34\n" /* bti c, a nop on a processor that does not know it */ \
    "990:\n" \
    "  nop\n" \
    "  ret\n"

#define PYUSDT_SITE_FILL "  nop\n"

/* pyusdt_site_hit(w0 = probe, x1 = values) finds the site's entry, then continues as */
#define PYUSDT_SITE_HIT \
    "  hint #34\n" \
    "  adrp x17, pyusdt_sites\n" /* entry = first entry + 16 * probe */ \
    "  add x17, x17, :lo12:pyusdt_sites\n" \
    "  add x0, x17, w0, uxtw #4\n"

/* pyusdt_site_call(x0 = entry, x1 = values) */
#define PYUSDT_SITE_CALL \
    "  hint #34\n" \
    "  stp x29, x30, [sp, #-16]!\n" \
    "  .cfi_def_cfa_offset 16\n" \
    "  .cfi_offset x29, -16\n" \
    "  .cfi_offset x30, -8\n" \
    "  mov x29, sp\n" \
    "  .cfi_def_cfa_register x29\n" \
    "  mov x17, x0\n" \
    "  ldp x2, x3, [x1, #16]\n" \
    "  ldp x4, x5, [x1, #32]\n" \
    "  ldp x6, x7, [x1, #48]\n" \
    "  ldp x8, x9, [x1, #64]\n" \
    "  ldp x10, x11, [x1, #80]\n" \
    "  ldp x0, x1, [x1]\n" /* last: x1 held the address */ \
    "  blr x17\n" \
    "  ldp x29, x30, [sp], #16\n" \
    "  .cfi_def_cfa sp, 0\n" \
    "  .cfi_restore x29\n" \
    "  .cfi_restore x30\n" \
    "  ret\n"

#endif
