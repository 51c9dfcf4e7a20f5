/* The user's cache of provider objects: files that are loaded as code, so nothing but our own is believed.
 *
 * In:      an object (elf_write.h).
 * Out:     the path of a file in the cache that has exactly its bytes.
 * Always:  every directory and link of the path belongs to the user or root and can be changed by nobody else, before anything
 *          is made below it; a home that is not there is not made; the file is the user's, plain, with one name; it appears
 *          whole (rename).  A process that has more rights than the user who started it (set-uid, capabilities) has no cache. */
#ifndef PYUSDT_PROVIDER_CACHE_H
#define PYUSDT_PROVIDER_CACHE_H

#include "target/elf_write.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_CACHE_PATH 1024

/* PYUSDT_CACHE, else XDG_CACHE_HOME/pyusdt, else HOME/.cache/pyusdt.  0 or -errno with the error filled in. */
int pyusdt_cache_directory(char *path, size_t size, struct pyusdt_error *error);

/* 0, or -errno with the error filled in. */
int pyusdt_cache_object(const char *provider, const struct pyusdt_elf *elf, char *path, size_t size,
                        struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
