/*
 * The user's cache of provider objects (elf_write.h). Its files are loaded as code, so everything
 * in it is verified.
 *
 * - Every directory and link of the path belongs to the user or root, and no other user can change
 *   it. This is verified before anything is made below it.
 * - A missing home directory is not made.
 * - A file of the cache is the user's own regular file with one name and exactly the object's
 *   bytes. It appears complete (rename).
 * - A process with more rights than its user (set-uid, capabilities) has no cache.
 */
#ifndef PYUSDT_PROVIDER_CACHE_H
#define PYUSDT_PROVIDER_CACHE_H

#include "target/elf_write.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_CACHE_PATH 1024

/* PYUSDT_CACHE, else XDG_CACHE_HOME/pyusdt, else HOME/.cache/pyusdt. 0 or -errno with the error
 * filled in. */
int pyusdt_cache_directory(char *path, size_t size, struct pyusdt_error *error);

/* 0, or -errno with the error filled in. */
int pyusdt_cache_object(const char *provider, const struct pyusdt_elf *elf, char *path, size_t size,
                        struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
