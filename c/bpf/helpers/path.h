/*
 * A path without empty parts and `.`, and without a part that `..` follows.
 *
 * - A leading `..` stays in a relative path, and is nothing behind the root.
 * - The result is not longer than the path, except for "." if nothing is left of a relative one.
 * - No file is looked up, and nothing outside of the path is read; it may hold NULs.
 */
#ifndef PYUSDT_HELPERS_PATH_H
#define PYUSDT_HELPERS_PATH_H

#include <stdint.h>

/* Writes at most `size` bytes with the NUL to `out`, which may not overlap; returns their number. */
uint32_t pyusdt_path_clean(const char *path, uint32_t size, char *out);

#endif
