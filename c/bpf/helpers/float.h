/* Floating-point arithmetic for the interpreter, whose programs have none.
 *
 * In: doubles as their bits.  Out: the same, or an integer.  Always: defined for every input: IEEE 754's results, also
 * for infinities and NaN, without traps; what is too large for an integer is the nearest one, NaN is 0.
 */
#ifndef PYUSDT_HELPERS_FLOAT_H
#define PYUSDT_HELPERS_FLOAT_H

#include <stdint.h>

/* operation: PYUSDT_FLOAT_… of generated/program.h; others give 0.  Conversions take `a` alone. */
uint64_t pyusdt_float_compute(uint32_t operation, uint64_t a, uint64_t b);

/* One value more: words are the number of values, and the bits of their mean and of the sum of the squared distances
 * from it. */
void pyusdt_float_deviate(uint64_t words[3], uint64_t value);

#endif
