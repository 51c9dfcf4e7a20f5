/* The functions of os.h that only Linux can provide, for all other systems. */
#if !defined(__linux__)
#include "shared/os.h"

int pyusdt_os_memory_limits(pyusdt_os_limit_fn *fn, void *arg)
{
    (void)fn, (void)arg;
    return 0;
}

int pyusdt_os_address_limit(pyusdt_os_limit_fn *fn, void *arg)
{
    (void)fn, (void)arg;
    return 0;
}

bool pyusdt_os_drop_rights(void)
{
    return false;
}

bool pyusdt_os_drop_rights_like_main_thread(void)
{
    return false;
}

bool pyusdt_os_has_barrier(void)
{
    return false;
}

bool pyusdt_os_barrier_join(void)
{
    return false;
}

void pyusdt_os_barrier(void)
{
}

void pyusdt_os_word_wait(_Atomic uint32_t *word, uint32_t seen, unsigned milliseconds)
{
    pyusdt_os_word_poll(word, seen, milliseconds);
}

void pyusdt_os_word_wake(_Atomic uint32_t *word)
{
    (void)word;
}

char *pyusdt_os_thread_stack(size_t *size)
{
    *size = 0; /* who asks does without */
    return NULL;
}

int pyusdt_os_populate(void *at, uint64_t size)
{
    (void)at;
    (void)size;
    return -ENOTSUP;
}

bool pyusdt_os_fsuid_set(uint32_t uid, uint32_t gid, struct pyusdt_os_credentials *self)
{
    (void)uid;
    (void)gid;
    (void)self;
    return false;
}

void pyusdt_os_fsuid_restore(const struct pyusdt_os_credentials *self)
{
    (void)self;
}
#endif
