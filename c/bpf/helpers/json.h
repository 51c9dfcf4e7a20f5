/*
 * A value out of a JSON text, by a path such as `user.tags[2].name`, as text.
 *
 * - A string gives the characters between its quotes, escapes as they are; numbers, true, false and
 *   null are as they are written; objects and arrays are whole.
 * - The JSON text is untrusted and may hold NULs. Nothing outside of text and path is read, and
 *   each byte of the text is read once.
 */
#ifndef PYUSDT_HELPERS_JSON_H
#define PYUSDT_HELPERS_JSON_H

#include <stdint.h>

/* Writes at most out_size bytes with the NUL, and returns their number.  -ENOENT: the text is not JSON as far as it was
 * read, or has no such value. */
int pyusdt_json_text(const char *text, uint32_t size, const char *path, uint32_t path_size,
                     char *out, uint32_t out_size);

#endif
