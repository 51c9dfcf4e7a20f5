/* See captured_memory.h. */
#include "consumer/captured_memory.h"

#include <errno.h>
#include <string.h>

#include "bpf/vm.h"

int pyusdt_read_captured_memory(const struct pyusdt_event *e, uint64_t address, void *to,
                                uint32_t size, int how)
{
    for (unsigned i = 0; i < e->ncaptures; i++) {
        uint64_t offset = address - e->capture[i].address;
        if (address < e->capture[i].address || offset > e->capture[i].length)
            continue;
        uint32_t rest = e->capture[i].length - (uint32_t)offset; /* bytes before the NUL */
        const char *from = e->capture[i].data + offset;
        if (how == PYUSDT_READ_REST) {
            size = size < rest ? size : rest;
            memcpy(to, from, size);
            return (int)size;
        }
        if (how == PYUSDT_READ_BYTES) {
            if (size > rest + 1)
                return -EFAULT;
            memcpy(to, from, size < rest ? size : rest);
            if (size > rest)
                ((char *)to)[rest] = 0;
            return (int)size;
        }
        if (size == 0)
            return 0;
        const char *end = memchr(from, 0, rest);
        uint32_t n = end ? (uint32_t)(end - from) : rest;
        n = n < size - 1 ? n : size - 1;
        memcpy(to, from, n);
        ((char *)to)[n] = 0;
        return (int)n + 1;
    }
    return -EFAULT;
}
