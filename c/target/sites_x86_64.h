/*
 * The probe site on x86-64, for c/target/sites.c.
 *
 * A site is 16 bytes, aligned to 16: nop, nop10, nop5. The note names the one-byte nop, and a
 * uprobe there is a trap on every kernel. Linux 6.18 to 7.2 turn a uprobe on a nop5 into a call,
 * which is faster but pushes below the stack pointer. Later kernels want nop10 instead. A tracer
 * that knows this may attach 1 or 11 bytes further on.
 *
 * Sites are 32 bytes apart. A function begins four bytes before its site and ends in the ret behind
 * it, on the first byte of the next 32:
 *      32k+12  endbr64         entry: sites are called indirectly, and the processor may check that
 *      32k+16  nop             the address in the note
 *      32k+17  nop10
 *      32k+27  nop5
 *      32k+32  ret             (the ret of the site before is at 32k)
 *
 * - All of it is assembly, so no compiler and no -O3 or LTO clones, moves or merges a site.
 */
#ifndef PYUSDT_SITES_X86_64_H
#define PYUSDT_SITES_X86_64_H

/* Registers of the arguments, in order.  Not rbp and rsp: tracers walk the stack by them. */
#define PYUSDT_REGISTER_0 "%rdi"
#define PYUSDT_REGISTER_1 "%rsi"
#define PYUSDT_REGISTER_2 "%rdx"
#define PYUSDT_REGISTER_3 "%rcx"
#define PYUSDT_REGISTER_4 "%r8"
#define PYUSDT_REGISTER_5 "%r9"
#define PYUSDT_REGISTER_6 "%rax"
#define PYUSDT_REGISTER_7 "%r10"
#define PYUSDT_REGISTER_8 "%r11"
#define PYUSDT_REGISTER_9 "%rbx"
#define PYUSDT_REGISTER_10 "%r12"
#define PYUSDT_REGISTER_11 "%r13"

#define PYUSDT_SITES_BEGIN \
    "  .p2align 5\n" \
    "pyusdt_sites:\n" \
    "  .skip 12, 0xcc\n"

#define PYUSDT_SITE_BODY \
    "  endbr64\n" \
    "990:\n" \
    "  nop\n" \
    "  .byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00\n" /* nopw %cs:0(%rax,%rax) */ \
    "  .byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"                               /* nopl 0(%rax,%rax) */ \
    "  ret\n"

/* The ret is followed by padding up to the next entry. */
#define PYUSDT_SITE_FILL "  .skip 11, 0xcc\n"

/* pyusdt_site_hit(edi = probe, rsi = values) finds the site's entry, then continues as */
#define PYUSDT_SITE_HIT \
    "  endbr64\n" \
    "  mov %edi, %edi\n" \
    "  shl $5, %rdi\n" /* entry = first entry + 32 * probe */ \
    "  lea pyusdt_sites+12(%rip), %rax\n" \
    "  add %rax, %rdi\n"

/* pyusdt_site_call(rdi = entry, rsi = values) */
#define PYUSDT_SITE_CALL \
    "  endbr64\n" \
    "  push %rbp\n" \
    "  .cfi_def_cfa_offset 16\n" \
    "  .cfi_offset %rbp, -16\n" \
    "  mov %rsp, %rbp\n" \
    "  .cfi_def_cfa_register %rbp\n" \
    "  push %r14\n" \
    "  push %r13\n" \
    "  push %r12\n" \
    "  push %rbx\n" \
    "  .cfi_offset %r14, -24\n" \
    "  .cfi_offset %r13, -32\n" \
    "  .cfi_offset %r12, -40\n" \
    "  .cfi_offset %rbx, -48\n" \
    "  mov %rdi, %r14\n" \
    "  mov 0(%rsi), %rdi\n" \
    "  mov 16(%rsi), %rdx\n" \
    "  mov 24(%rsi), %rcx\n" \
    "  mov 32(%rsi), %r8\n" \
    "  mov 40(%rsi), %r9\n" \
    "  mov 48(%rsi), %rax\n" \
    "  mov 56(%rsi), %r10\n" \
    "  mov 64(%rsi), %r11\n" \
    "  mov 72(%rsi), %rbx\n" \
    "  mov 80(%rsi), %r12\n" \
    "  mov 88(%rsi), %r13\n" \
    "  mov 8(%rsi), %rsi\n" /* last: it held the address */ \
    "  call *%r14\n" \
    "  pop %rbx\n" \
    "  pop %r12\n" \
    "  pop %r13\n" \
    "  pop %r14\n" \
    "  pop %rbp\n" \
    "  .cfi_def_cfa %rsp, 8\n" \
    "  ret\n"

#endif
