/* Floating-point arithmetic; see float.h. */
#include "bpf/helpers/float.h"

#include <math.h>
#include <string.h>

#include "generated/program.h"

static double double_from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t widen(uint64_t bits)
{
    uint32_t half = (uint32_t)bits;
    float value;

    memcpy(&value, &half, sizeof value);
    return bits_of((double)value);
}

static uint64_t narrow(double value)
{
    float half = (float)value; /* IEEE 754: infinity where it is too large */
    uint32_t bits;

    memcpy(&bits, &half, sizeof bits);
    return bits;
}

/* Towards zero. */
static int64_t truncate_to_int64(double value)
{
    if (isnan(value))
        return 0;
    if (value >= 0x1p63)
        return INT64_MAX;
    return value < -0x1p63 ? INT64_MIN : (int64_t)value;
}

uint64_t pyusdt_float_compute(uint32_t operation, uint64_t a, uint64_t b)
{
    double x = double_from_bits(a), y = double_from_bits(b);

    switch (operation) {
    case PYUSDT_FLOAT_ADD:
        return bits_of(x + y);
    case PYUSDT_FLOAT_SUB:
        return bits_of(x - y);
    case PYUSDT_FLOAT_MUL:
        return bits_of(x * y);
    case PYUSDT_FLOAT_DIV:
        return bits_of(x / y);
    case PYUSDT_FLOAT_FROM_SIGNED:
        return bits_of((double)(int64_t)a);
    case PYUSDT_FLOAT_FROM_UNSIGNED:
        return bits_of((double)a);
    case PYUSDT_FLOAT_TO_SIGNED:
        return (uint64_t)truncate_to_int64(x);
    case PYUSDT_FLOAT_WIDEN:
        return widen(a);
    case PYUSDT_FLOAT_NARROW:
        return narrow(x);
    default:
        return 0;
    }
}

void pyusdt_float_deviate(uint64_t words[3], uint64_t value)
{
    double x = double_from_bits(value), mean = double_from_bits(words[1]),
           squares = double_from_bits(words[2]), distance = x - mean;

    words[0]++;
    mean += distance / (double)words[0];
    squares += distance * (x - mean);
    words[1] = bits_of(mean);
    words[2] = bits_of(squares);
}
