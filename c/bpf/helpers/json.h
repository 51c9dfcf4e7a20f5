/* A value out of a JSON text.
 *
 * In:      a text that may hold anything, with a NUL in it or not; a path such as `user.tags[2].name`.
 * Out:     the value as text: of a string what stands between its quotes, escapes as they are; numbers, true, false and
 *          null as they are written; objects and arrays whole.
 * Always:  nothing outside of text and path is read; each byte of the text is looked at once. */
#ifndef PYUSDT_HELPERS_JSON_H
#define PYUSDT_HELPERS_JSON_H

#include <stdint.h>

/* Writes at most out_size bytes with the NUL, and returns their number.  -ENOENT: the text is not JSON as far as it was
 * read, or has no such value. */
int pyusdt_json_text(const char *text, uint32_t size, const char *path, uint32_t path_size,
                     char *out, uint32_t out_size);

#endif
