/*
 * Identifies the calling thread (see proc_id.h).
 *
 * Each thread stores its text with the epoch in which it was made. The epoch is in a page that the
 * kernel wipes in a forked or cloned child, so a child finds 0 and starts its own epoch. If the
 * kernel cannot wipe pages, the process id is read each time.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "target/proc_id.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/os.h"

static _Atomic(_Atomic uint32_t *) epoch_page;
/* copied into children: no child takes a number that an ancestor had */
static atomic_uint last_epoch;

/* The page with this process's epoch, or NULL if it cannot be allocated. */
static _Atomic uint32_t *map_epoch_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    _Atomic uint32_t *none = NULL;

    if (page == MAP_FAILED)
        return NULL;
    if (!pyusdt_os_wipe_on_fork(page, size) ||
        !atomic_compare_exchange_strong(&epoch_page, &none, (_Atomic uint32_t *)page))
        munmap(page, size); /* no such kernel, or another thread was faster */
    return atomic_load(&epoch_page);
}

static uint32_t current_epoch(void)
{
    _Atomic uint32_t *page = atomic_load_explicit(&epoch_page, memory_order_acquire);
    uint32_t epoch;

    if (page == NULL && (page = map_epoch_page()) == NULL)
        return (uint32_t)getpid();
    epoch = atomic_load_explicit(page, memory_order_relaxed);
    if (epoch == 0) {
        uint32_t mine = atomic_fetch_add(&last_epoch, 1) + 1;
        if (atomic_compare_exchange_strong(page, &epoch, mine))
            epoch = mine;
    }
    return epoch;
}

static char *append_number(char *at, uint64_t number)
{
    char digits[20];
    int n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (n > 0)
        *at++ = digits[--n];
    return at;
}

const char *pyusdt_proc_id(uint32_t *length)
{
    static _Thread_local struct {
        /* stored last, so that a signal handler finds the text whole or not at all */
        _Atomic uint32_t epoch;
        uint32_t length;
        char text[PYUSDT_PROC_ID_SIZE];
    } text_of_thread;
    uint32_t epoch = current_epoch();

    if (atomic_load_explicit(&text_of_thread.epoch, memory_order_relaxed) != epoch) {
        char *at = text_of_thread.text;
        *at++ = '<';
        at = append_number(at, (uint64_t)getpid());
        *at++ = '.';
        at = append_number(at, pyusdt_os_tid());
        *at++ = '>';
        *at = '\0';
        text_of_thread.length = (uint32_t)(at - text_of_thread.text);
        atomic_signal_fence(memory_order_release);
        atomic_store_explicit(&text_of_thread.epoch, epoch, memory_order_relaxed);
    }
    *length = text_of_thread.length;
    return text_of_thread.text;
}
