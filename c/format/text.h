/*
 * Text in memory that grows, and the conversions of printf that D has, as dtrace prints them.
 *
 * - The result does not depend on the locale.
 * - The arguments bound the length of what is appended, not the contents of memory.
 * - Functions return 0 or -ENOMEM; after -ENOMEM the text is still valid.
 */
#ifndef PYUSDT_TEXT_H
#define PYUSDT_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct pyusdt_text {
    char *data;
    size_t size, capacity;
};

/* Flags of a conversion; program/printf_format.py has the same numbers. */
enum {
    PYUSDT_FLAG_ALT = 1,
    PYUSDT_FLAG_ZERO = 2,
    PYUSDT_FLAG_LEFT = 4,
    PYUSDT_FLAG_PLUS = 8,
    PYUSDT_FLAG_GROUP = 16, /* means nothing: dtrace runs in the C locale */
    PYUSDT_FLAG_SPACE = 32,
};

/* How to lay out one conversion.  letter: d u o x X for integers; precision 0: none, as in dtrace, where
 * even an explicit .0 means none. */
struct pyusdt_layout {
    char letter;
    uint8_t flags;
    uint32_t width, precision;
};

void pyusdt_text_free(struct pyusdt_text *text);

char *pyusdt_text_grow(struct pyusdt_text *text, size_t more);

/* Make room for `more` bytes; returns where they go, or NULL.  The caller adds to text->size. */
static inline char *pyusdt_text_reserve(struct pyusdt_text *text, size_t more)
{
    return text->capacity - text->size > more
               ? text->data + text->size
               : pyusdt_text_grow(text, more); /* >: no memory is no room */
}

static inline int pyusdt_text_append(struct pyusdt_text *text, const void *data, size_t size)
{
    char *out = pyusdt_text_reserve(text, size);

    if (!out)
        return -ENOMEM;
    if (size == 1) /* a space, a newline: less than a call of memcpy() */
        *out = *(const char *)data;
    else if (size)
        memcpy(out, data, size);
    text->size += size;
    return 0;
}

int pyusdt_text_digits(struct pyusdt_text *text, uint64_t value, bool is_signed);

/* %d and %u without anything else, as most are. */
static inline int pyusdt_text_decimal(struct pyusdt_text *text, uint64_t value, bool is_signed)
{
    const char digit = (char)('0' + value);

    return value < 10 ? pyusdt_text_append(text, &digit, 1)
                      : pyusdt_text_digits(text, value, is_signed);
}

/* An integer; `value` already extended to 64 bits by its type, `is_signed` for %d of a signed type. */
int pyusdt_text_integer(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                        uint64_t value, bool is_signed);
/* A string of `size` bytes, cut to the precision and padded with spaces. */
int pyusdt_text_string(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                       const char *data, size_t size);
/* The same with C's escapes for what does not print (%S, %C). */
int pyusdt_text_escaped(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                        const uint8_t *data, size_t size);
/* A table of bytes in hexadecimal and as characters. */
int pyusdt_text_dump(struct pyusdt_text *text, const uint8_t *data, size_t size);

/* True if dtrace's default format shows these bytes as text: they print, or are space, \a or \b. */
bool pyusdt_text_printable(const uint8_t *data, size_t size);

#endif
