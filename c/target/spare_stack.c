/*
 * Calls a function on a spare stack, for a thread that may have only a few hundred bytes of stack
 * left (see spare_stack.h).
 *
 * - Signals are blocked meanwhile, so no handler of the program runs on a spare stack or leaves it
 *   by longjmp().
 * - An alternate signal stack that the thread stands on is disabled meanwhile. Otherwise the kernel
 *   would overwrite its frames for the handler of a fault.
 * - Functions that are called before the switch are called once when the process publishes itself,
 *   because the dynamic linker needs some KiB of stack for the first call of a library function.
 * - If stacks cannot be switched (other processors, sanitizers), the function is called on the
 *   current stack.
 */
#define _GNU_SOURCE
#include "target/spare_stack.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "shared/os.h"

#if defined(__has_feature) /* clang's */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SANITIZED) || \
    !defined(__linux__)
#define SWITCHES 0
#elif (defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__)
#define SWITCHES 1
#else
#define SWITCHES 0
#endif

#if SWITCHES
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_SIZE 65536u
#define GUARD_SIZE 65536u /* of the largest pages that there are */

static char *stacks; /* PYUSDT_SPARE_STACKS, each above a guard */

static void resolve_functions(void)
{
    const struct timespec none = {0, 0};
    stack_t alternate;
    int cancel;

    sigaltstack(NULL, &alternate);
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, sizeof(uint64_t));
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    pthread_setcancelstate(cancel, NULL);
    pthread_setspecific(pyusdt_core.key, pthread_getspecific(pyusdt_core.key));
    nanosleep(&none, NULL);
    sched_yield();
    pyusdt_os_cpu();
    pyusdt_now();
    pyusdt_os_has_thread_ended(pyusdt_os_tid());
    geteuid();
}

int pyusdt_spare_stacks_prepare(void)
{
    const size_t each = STACK_SIZE + GUARD_SIZE;
    char *at;

    at = mmap(NULL, PYUSDT_SPARE_STACKS * each, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return -ENOMEM;
    for (unsigned i = 0; i < PYUSDT_SPARE_STACKS; i++)
        if (mprotect(at + i * each + GUARD_SIZE, STACK_SIZE, PROT_READ | PROT_WRITE) != 0)
            return -ENOMEM;
    stacks = at;
    resolve_functions();
    return 0;
}

/* ---- the switch ---- */

#if defined(__x86_64__)
static __attribute__((noinline)) void switch_to(char *top, void (*fn)(void *arg), void *arg)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "callq *%[fn]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(arg), [fn] "+a"(fn), [top] "+S"(top)
                     :
                     : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
#else
static __attribute__((noinline)) void switch_to(char *top, void (*fn)(void *arg), void *arg)
{
    register void *first __asm__("x0") = arg;
    register void (*function)(void *) __asm__("x1") = fn;
    register char *stack __asm__("x2") = top;

    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[stack]\n\t"
                     "blr %[function]\n\t"
                     "mov sp, x19"
                     : "+r"(first), [function] "+r"(function), [stack] "+r"(stack)
                     :
                     : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
                       "x15", "x16", "x17", "x19", "x30", "memory", "cc", "v0", "v1", "v2", "v3",
                       "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
                       "v27", "v28", "v29", "v30", "v31");
}
#endif

/* ---- signals ---- */

struct call {
    void (*fn)(void *arg);
    void *arg;
    stack_t *alternate; /* the one on which the thread stands, or NULL */
};

/* On the spare stack: there the kernel lets us change the alternate one. */
static void call_on_spare_stack(void *arg)
{
    const stack_t none = {.ss_flags = SS_DISABLE};
    const struct call *call = arg;

    if (call->alternate)
        sigaltstack(&none, NULL);
    call->fn(call->arg);
    if (call->alternate)
        sigaltstack(call->alternate, NULL);
}

static void switch_and_call(unsigned number, void (*fn)(void *arg), void *arg)
{
    static const int kept[] = {
        SIGBUS,  SIGSEGV, SIGILL, SIGFPE,
        SIGTRAP, 32,      33}; /* faults, and signals that the C library sends itself */
    struct call call = {fn, arg, NULL};
    uint64_t blocked = ~0ull,
             before; /* as the kernel has them: a sigset_t takes 128 bytes, which we may not have */
    stack_t alternate;
    int error = errno;

    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        blocked &= ~(1ull << (kept[i] - 1));
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, &before, sizeof before);
    if (sigaltstack(NULL, &alternate) == 0 && (alternate.ss_flags & SS_ONSTACK)) {
        alternate.ss_flags &= ~SS_ONSTACK;
        call.alternate = &alternate;
    }
    switch_to(stacks + (number + 1) * (STACK_SIZE + GUARD_SIZE), call_on_spare_stack, &call);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    errno = error;
}

/* ---- which stack ---- */

/* The first is for the thread with the lock of the slow paths. */
bool pyusdt_spare_stack_call(void (*fn)(void *arg), void *arg)
{
    _Atomic uint32_t *in_use = pyusdt_core.family->spare_in_use;

    for (unsigned i = 1; i < PYUSDT_SPARE_STACKS; i++) {
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&in_use[i], &none, 1))
            continue;
        switch_and_call(i, fn, arg);
        atomic_store(&in_use[i], 0);
        return true;
    }
    return false;
}

bool pyusdt_spare_stack_call_locked(bool firing, void (*fn)(void *arg), void *arg)
{
    if (!pyusdt_core_lock(firing))
        return false;
    switch_and_call(0, fn, arg);
    pyusdt_core_unlock();
    return true;
}
#else
int pyusdt_spare_stacks_prepare(void)
{
    return 0;
}

bool pyusdt_spare_stack_call(void (*fn)(void *arg), void *arg)
{
    fn(arg);
    return true;
}

bool pyusdt_spare_stack_call_locked(bool firing, void (*fn)(void *arg), void *arg)
{
    if (!pyusdt_core_lock(firing))
        return false;
    fn(arg);
    pyusdt_core_unlock();
    return true;
}
#endif
