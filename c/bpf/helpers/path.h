/* A path without what means nothing in it.
 *
 * In: a path, with a NUL in it or not.  Out: the same without empty parts and `.`, and without a part that `..` follows;
 * `..` that nothing comes before stays in a relative path and is nothing behind the root.  Always: nothing outside of the
 * path is read; the result is not longer than the path but for "." where nothing is left of a relative one; no file is
 * looked at.
 */
#ifndef PYUSDT_HELPERS_PATH_H
#define PYUSDT_HELPERS_PATH_H

#include <stdint.h>

/* Writes at most `size` bytes with the NUL to `out`, which may not overlap; returns their number. */
uint32_t pyusdt_path_clean(const char *path, uint32_t size, char *out);

#endif
