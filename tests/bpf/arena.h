/* For the fuzzers, linked with --wrap=mmap,--wrap=munmap: the maps' arenas come from malloc in exactly
 * the size that was asked for, so that AddressSanitizer sees each byte read or written beside them. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t size);

void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    (void)at, (void)protection, (void)flags, (void)fd, (void)offset;
    void *memory = calloc(1, size);
    return memory ? memory : MAP_FAILED;
}

int __wrap_munmap(void *at, size_t size)
{
    (void)size;
    free(at);
    return 0;
}

static uint64_t random_state;

static uint64_t random64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1d;
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)((random64() >> 32) * n >> 32);
}
