/*
 * Floating-point arithmetic on doubles as their bits, for the interpreter, whose programs have
 * none.
 *
 * - Every input has a result: IEEE 754's, also for infinities and NaN, without traps.
 * - As an integer, a value that is too large is the nearest one, and NaN is 0.
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
