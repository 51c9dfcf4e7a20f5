/*
 * Unwinds native frames by frame pointers (see frame_pointers.h).
 *
 * - A frame is two words: the caller's frame, and the return address. Each frame lies above the
 *   frame that it calls.
 * - Memory is read only if it is known to be readable. For the thread's own stack this is checked
 *   once, since it stays readable from some page to its end while the thread lives.
 * - For other stacks (coroutines, signal handlers) the kernel is asked about each page, from the
 *   innermost frame on, just before it is read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "target/frame_pointers.h"

#include "target/target.h"
#include "target/code_address.h"

int pyusdt_native_inner;

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#include <errno.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE ((uintptr_t)4096)
#define FRAME_DISTANCE_MAX (8ull << 20) /* bytes from one frame to the next */
#define CHECKED_PAGES_MAX 64            /* pages of a stack at one firing */

/* A thread keeps the first page from which on its stack can be read, and in the lower bits: */
#define CACHED_FIRST_THREAD 1u /* it is the first thread's */
#define CACHED_END 2u          /* below lies nothing that can be read */

static uintptr_t strip_signature(uintptr_t address)
{
#if defined(__aarch64__)
    register uintptr_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link)); /* xpaclri: without its signature */
    return link;
#else
    return address;
#endif
}

/* The address at which the kernel has put the program's arguments. The C library would search its
 * whole list for it. */
static uintptr_t find_arguments(void)
{
    static uintptr_t found;
    uintptr_t at = __atomic_load_n(&found, __ATOMIC_RELAXED);

    if (at == 0)
        __atomic_store_n(&found, at = getauxval(AT_RANDOM), __ATOMIC_RELAXED);
    return at;
}

/* The end of a thread's stack; its own data lie above. The first thread's ends at the arguments
 * that the kernel has put there. */
static uintptr_t find_stack_end(uintptr_t from, uintptr_t *kind)
{
    uintptr_t is_thread_stack;

#if defined(__aarch64__)
    __asm__("mrs %0, tpidr_el0" : "=r"(is_thread_stack));
#else
    __asm__("mov %%fs:0, %0" : "=r"(is_thread_stack));
#endif
    *kind = is_thread_stack > from ? 0 : CACHED_FIRST_THREAD;
    return is_thread_stack > from ? is_thread_stack : find_arguments();
}

/* The kernel reads the mask before it finds that there is nothing to be done with it. */
static bool is_readable(uintptr_t page)
{
    int error = errno;
    bool readable = syscall(SYS_rt_sigprocmask, -1, page, NULL, 8) == 0 || errno != EFAULT;

    errno = error;
    return readable;
}

/* Whether everything from `from` to `end` is the thread's own stack. It is not, if readable memory
 * below `end` ends before. The first thread's own data lie far from its stack, between other
 * memory, so memory below them is never its stack. */
static bool is_on_thread_stack(uintptr_t from, uintptr_t end, uintptr_t kind)
{
    uintptr_t cached, first;

    if (!pyusdt_core.has_native_key || from >= end || end - from > FRAME_DISTANCE_MAX ||
        (kind == 0 && pyusdt_self_tid() == pyusdt_core.identity.pid))
        return false;
    cached = (uintptr_t)pthread_getspecific(pyusdt_core.native_key);
    first = cached != 0 ? cached & ~(PAGE - 1) : end & ~(PAGE - 1);
    if (cached != 0 && (cached & CACHED_FIRST_THREAD) != kind)
        return false; /* a forked child's first thread, which was another in its parent */
    if (from >= first || (cached & CACHED_END) != 0)
        return from >= first;
    for (unsigned i = 0; i < CHECKED_PAGES_MAX && from < first && (kind & CACHED_END) == 0; i++) {
        if (is_readable(first - PAGE))
            first -= PAGE;
        else
            kind |= CACHED_END;
    }
    return pthread_setspecific(pyusdt_core.native_key, (void *)(first | kind)) == 0 &&
           from >= first;
}

/* *readable: the last page that is known to be readable; first: the page of the innermost frame. A
 * stack that is not the thread's own must be contiguous, so that a broken chain leads to no memory
 * that another thread may free meanwhile. */
static bool may_follow(uintptr_t from, uintptr_t to, uintptr_t end, bool is_thread_stack,
                       uintptr_t first, uintptr_t *readable)
{
    if (to % 16 != 0 || to <= from || to - from > FRAME_DISTANCE_MAX || to > end - 16)
        return false;
    if (is_thread_stack)
        return true;
    if (to / PAGE - first > CHECKED_PAGES_MAX)
        return false;
    for (; *readable < to / PAGE; ++*readable)
        if (!is_readable((*readable + 1) * PAGE))
            return false;
    return true;
}

/* A frame is 16 bytes; it lies in one page. Its bytes may be anything, also another's redzone. */
__attribute__((noinline, no_sanitize("address"))) uint32_t
pyusdt_read_native_frames(const uintptr_t *frame, uint64_t *words, uint32_t most, bool *more)
{
    const uintptr_t first = (uintptr_t)frame / PAGE;
    uintptr_t readable = first, kind, end = find_stack_end((uintptr_t)frame, &kind), next;
    bool is_thread_stack = is_on_thread_stack((uintptr_t)frame, end, kind);
    uint64_t inner =
        pyusdt_native_inner ? pyusdt_code_word((uintptr_t)&pyusdt_read_native_frames) >> 32 : 0;
    uint32_t n = 0;

    *more = false;
    for (;; frame = (const uintptr_t *)next) {
        uint64_t word = pyusdt_code_word(strip_signature(frame[1]));
        if (word == PYUSDT_NO_CODE)
            return n;
        if (inner == 0 || word >> 32 != inner) {
            inner = 0; /* from here on */
            if (n == most) {
                *more = true;
                return n;
            }
            words[n++] = word;
        }
        next = frame[0];
        if (!may_follow((uintptr_t)frame, next, end, is_thread_stack, first, &readable))
            return n;
    }
}
#else
uint32_t pyusdt_read_native_frames(const uintptr_t *frame, uint64_t *words, uint32_t most,
                                   bool *more)
{
    (void)frame, (void)words, (void)most;
    *more = false;
    return 0;
}
#endif
