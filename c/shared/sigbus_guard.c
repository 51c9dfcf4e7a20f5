/* Protects shared mappings against truncation of their file (see sigbus_guard.h). */
#define _GNU_SOURCE
#include "shared/sigbus_guard.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "shared/os.h"

/* Ranges are only added and emptied; the handler reads them without a lock. Blocks come from
 * mmap(), never freed. */
#define BLOCK_RANGES 254
struct range {
    _Atomic uintptr_t start; /* 0: free; 1: being changed */
    _Atomic size_t size;
};
struct block {
    struct block *_Atomic next;
    uint64_t unused;
    struct range range[BLOCK_RANGES];
};

static struct block first_block;
static struct sigaction previous;
static atomic_int installed;
static size_t page_size;

static struct range *find_range(uintptr_t address)
{
    for (struct block *block = &first_block; block; block = atomic_load(&block->next))
        for (unsigned i = 0; i < BLOCK_RANGES; i++) {
            uintptr_t start = atomic_load(&block->range[i].start);
            if (start > 1 && address >= start &&
                address - start < atomic_load(&block->range[i].size))
                return &block->range[i];
        }
    return NULL;
}

static void call_previous_handler(int number, siginfo_t *info, void *context)
{
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler == SIG_DFL ||
               (previous.sa_handler == SIG_IGN && info->si_code > 0)) {
        signal(number, SIG_DFL); /* the access is repeated, and ends the process as it would have */
        if (info->si_code <= 0)
            raise(number); /* sent by kill(): nothing would repeat it */
    } else if (previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    }
}

static void handle_sigbus(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1);

    if (info->si_code <= 0 || !find_range((uintptr_t)info->si_addr) ||
        mmap((void *)page, page_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        call_previous_handler(number, info, context);
    errno = saved;
}

static void install_handler(void)
{
    struct sigaction action;
    int once = 0;

    if (!atomic_compare_exchange_strong(&installed, &once, 1))
        return;
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, NULL, &previous); /* before ours can be called */
    sigaction(SIGBUS, &action, NULL);
}

static int add_range(void *at, size_t size)
{
    struct range *range = find_range((uintptr_t)at);
    if (range) { /* a replaced mapping */
        if (atomic_load(&range->size) < size)
            atomic_store(&range->size, size);
        return 0;
    }
    for (struct block *block = &first_block;; block = atomic_load(&block->next)) {
        for (unsigned i = 0; i < BLOCK_RANGES; i++) {
            uintptr_t empty = 0;
            if (atomic_load(&block->range[i].start) == 0 &&
                atomic_compare_exchange_strong(&block->range[i].start, &empty, 1)) {
                atomic_store(&block->range[i].size, size);
                atomic_store(&block->range[i].start, (uintptr_t)at);
                return 0;
            }
        }
        if (!atomic_load(&block->next)) {
            struct block *none = NULL;
            void *more = mmap(NULL, sizeof(struct block), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (more == MAP_FAILED)
                return -ENOMEM;
            if (!atomic_compare_exchange_strong(&block->next, &none, (struct block *)more))
                munmap(more, sizeof(struct block));
        }
    }
}

void *pyusdt_guard_reserve(size_t size)
{
    void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return NULL;
    if (add_range(at, size) != 0) {
        munmap(at, size);
        errno = ENOMEM;
        return NULL;
    }
    return at;
}

void *pyusdt_guard_map(void *at, size_t size, int protection, int fd)
{
    void *reserved = at ? at : pyusdt_guard_reserve(size);
    install_handler();
    if (!reserved)
        return NULL;
    if (mmap(reserved, size, protection, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
        int saved = errno;
        if (!at)
            pyusdt_guard_unmap(reserved, size);
        errno = saved;
        return NULL;
    }
    return reserved;
}

void *pyusdt_guard_map_twice(void *at, size_t size, int protection, int fd, off_t offset)
{
    char *reserved = at ? at : pyusdt_guard_reserve(2 * size);
    if (!reserved)
        return NULL;
    install_handler();
    for (size_t half = 0; half < 2; half++)
        if (mmap(reserved + half * size, size, protection, MAP_SHARED | MAP_FIXED, fd, offset) ==
            MAP_FAILED) {
            int saved = errno;
            if (!at)
                pyusdt_guard_unmap(reserved, 2 * size);
            errno = saved;
            return NULL;
        }
    return reserved;
}

void pyusdt_guard_unmap(void *at, size_t size)
{
    struct range *range = find_range((uintptr_t)at);

    if (range)
        atomic_store(&range->start,
                     0); /* before another thread can be given these addresses, and guard them */
    munmap(at, size);
}
