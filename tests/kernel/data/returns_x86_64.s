# Functions as no compiler writes them.
    .text
    .globl conditional, repeated, entered, enters, jumps_anywhere
    .type conditional, @function
conditional:                    # a conditional jump into another function
    lea 7(%rdi), %eax
    cmp $2, %edi
    jl plain
    rep ret
    .size conditional, .-conditional

    .type repeated, @function
repeated:                       # several of them, with prefixes
    mov %edi, %eax
    test $1, %edi
    je 1f
    bnd ret
1:  rep ret
    .size repeated, .-repeated

    .type entered, @function
entered:                        # another function goes on in its middle
    mov %edi, %eax
.Lmiddle:
    add $100, %eax
    ret
    .size entered, .-entered

    .type enters, @function
enters:
    lea 50(%rdi), %eax
    jmp .Lmiddle
    .size enters, .-enters

    .type jumps_anywhere, @function
jumps_anywhere:                 # nothing tells where it goes on
    push %rbx
    mov %edi, %ebx
    lea 1f(%rip), %rax
    mov %rsp, %rcx
    and $-16, %rsp
    jmp *%rax
1:  mov %rcx, %rsp
    lea 3(%rbx), %eax
    pop %rbx
    ret
    .size jumps_anywhere, .-jumps_anywhere
    .section .note.GNU-stack, "", @progbits
