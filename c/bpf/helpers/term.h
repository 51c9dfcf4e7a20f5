/*
 * Terms of Erlang as text: what Erlang's ~0tp prints, with `...` for a truncated part; or one
 * element by its path.
 *
 * - The term's bytes (shared/term_format.h) are untrusted: nothing outside [term, term + size) is
 *   read, and its size bounds the work.
 */
#ifndef PYUSDT_HELPERS_TERM_H
#define PYUSDT_HELPERS_TERM_H

#include <stdint.h>

/*
 * Writes the text and zeros, out_size bytes in all; returns the bytes of the text with its NUL.  A path is a row of
 * steps, each a word that says how:
 *   0, then a word: the element of that number of a tuple or list, from 1, or the value of that integer in a map;
 *   n > 0, then n bytes (a multiple of 8), NUL in them: the value of the atom, binary or string of this text in a map,
 *   or in a list of pairs.
 * What a path leads to is shown bare: atoms, strings and binaries without quotes.  -ENOENT: there is nothing, or it was
 * cut; -EINVAL: no term, no path.
 */
int pyusdt_term_text(const uint8_t *term, uint32_t size, const uint8_t *path, uint32_t path_size,
                     char *out, uint32_t out_size);

#endif
