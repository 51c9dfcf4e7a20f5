/* Text in memory that grows, and the conversions of printf; see text.h. */
#include "format/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void pyusdt_text_free(struct pyusdt_text *text)
{
    free(text->data);
    *text = (struct pyusdt_text){0};
}

char *pyusdt_text_grow(struct pyusdt_text *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : 4096;

    while (capacity - text->size < more) {
        if (capacity > SIZE_MAX / 2)
            return NULL;
        capacity *= 2;
    }
    char *data = realloc(text->data, capacity);
    if (!data)
        return NULL;
    text->data = data;
    text->capacity = capacity;
    return data + text->size;
}

/* Write the digits of `value` so that they end before `end`; returns the first. */
static char *put_digits(char *end, uint64_t value, char letter)
{
    const char *hex = letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";

    switch (letter) {
    case 'o':
        for (; value; value >>= 3)
            *--end = (char)('0' + (value & 7));
        break;
    case 'x':
    case 'X':
        for (; value; value >>= 4)
            *--end = hex[value & 15];
        break;
    default:
        for (; value; value /= 10)
            *--end = (char)('0' + value % 10);
        break;
    }
    return end;
}

int pyusdt_text_digits(struct pyusdt_text *text, uint64_t value, bool is_signed)
{
    bool negative = is_signed && (int64_t)value < 0;
    char *out = pyusdt_text_reserve(text, 20); /* of 2^64 - 1, and of -2^63 with its sign */
    size_t count = negative ? 2 : 1;

    if (!out)
        return -ENOMEM;
    value = negative ? -value : value;
    for (uint64_t least = 10; value >= least && count < 20; least *= 10)
        count++;
    out[0] = '-';
    text->size += count;
    for (char *digit = out + count;; value /= 10) {
        *--digit = (char)('0' + value % 10);
        if (value < 10)
            return 0;
    }
}

/* Choose the sign or 0x that comes before the digits; returns its length. */
static size_t put_prefix(char prefix[2], const struct pyusdt_layout *layout, uint64_t value,
                         bool negative, bool is_signed)
{
    if (negative)
        prefix[0] = '-';
    else if (is_signed && layout->flags & PYUSDT_FLAG_PLUS)
        prefix[0] = '+';
    else if (is_signed && layout->flags & PYUSDT_FLAG_SPACE)
        prefix[0] = ' ';
    else if (layout->flags & PYUSDT_FLAG_ALT && value &&
             (layout->letter == 'x' || layout->letter == 'X')) {
        prefix[0] = '0';
        prefix[1] = layout->letter;
        return 2;
    } else
        return 0;
    return 1;
}

int pyusdt_text_integer(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                        uint64_t value, bool is_signed)
{
    char buffer[24], prefix[2] = {0};
    bool negative = is_signed && (int64_t)value < 0;

    if (negative)
        value = -value;
    char *end = buffer + sizeof buffer;
    char *digits = put_digits(end, value, layout->letter);
    size_t count = (size_t)(end - digits);
    size_t before = put_prefix(prefix, layout, value, negative, is_signed);
    size_t least = layout->precision ? layout->precision : 1;
    if (layout->letter == 'o' && layout->flags & PYUSDT_FLAG_ALT && least < count + 1)
        least = count + 1;
    size_t zeros = least > count ? least - count : 0;
    size_t body = before + zeros + count;
    size_t pad = layout->width > body ? layout->width - body : 0;

    if (pad && layout->flags & PYUSDT_FLAG_ZERO && !(layout->flags & PYUSDT_FLAG_LEFT) &&
        !layout->precision) {
        zeros += pad; /* the zeros stand between the sign and the digits */
        body += pad;
        pad = 0;
    }
    char *out = pyusdt_text_reserve(text, body + pad);
    if (!out)
        return -ENOMEM;
    text->size += body + pad;
    if (pad && !(layout->flags & PYUSDT_FLAG_LEFT)) {
        memset(out, ' ', pad);
        out += pad;
        pad = 0;
    }
    memcpy(out, prefix, before);
    memset(out + before, '0', zeros);
    memcpy(out + before + zeros, digits, count);
    memset(out + body, ' ', pad);
    return 0;
}

int pyusdt_text_string(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                       const char *data, size_t size)
{
    if (layout->precision && size > layout->precision)
        size = layout->precision;
    size_t pad = layout->width > size ? layout->width - size : 0;
    char *out = pyusdt_text_reserve(text, size + pad);

    if (!out)
        return -ENOMEM;
    text->size += size + pad;
    if (layout->flags & PYUSDT_FLAG_LEFT) {
        memset(out + size, ' ', pad);
    } else if (pad) {
        memset(out, ' ', pad);
        out += pad;
    }
    if (size)
        memcpy(out, data, size);
    return 0;
}

/* Write one byte as %S shows it, at most four characters; returns how many. */
static size_t escape(char out[4], uint8_t byte)
{
    static const char named[] = "\0\a\b\f\n\r\t\v\"\\", letters[] = "0abfnrtv\"\\";
    const char *found = memchr(named, byte, sizeof named - 1);

    if (found) {
        out[0] = '\\';
        out[1] = letters[found - named];
        return 2;
    }
    if (byte >= ' ' && byte <= '~') {
        out[0] = (char)byte;
        return 1;
    }
    out[0] = '\\';
    out[1] = (char)('0' + (byte >> 6));
    out[2] = (char)('0' + (byte >> 3 & 7));
    out[3] = (char)('0' + (byte & 7));
    return 4;
}

int pyusdt_text_escaped(struct pyusdt_text *text, const struct pyusdt_layout *layout,
                        const uint8_t *data, size_t size)
{
    struct pyusdt_text escaped = {0};
    char *out = pyusdt_text_reserve(&escaped, 4 * size);

    if (!out)
        return -ENOMEM;
    for (size_t i = 0; i < size; i++)
        escaped.size += escape(out + escaped.size, data[i]);
    int rc = pyusdt_text_string(text, layout, escaped.data, escaped.size);
    pyusdt_text_free(&escaped);
    return rc;
}

/* One line of a dump: the offset, up to 16 bytes in hexadecimal, the same as characters. */
static void dump_line(char *out, const uint8_t *data, size_t offset, size_t count)
{
    static const char hex[] = "0123456789abcdef";

    memset(out, ' ', 78);
    size_t digit = 9;
    size_t rest = offset;
    do {
        out[digit--] = hex[rest & 15];
        rest >>= 4;
    } while (rest && digit);
    out[10] = ':';
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = data[offset + i];
        out[12 + 3 * i] = hex[byte >> 4];
        out[13 + 3 * i] = hex[byte & 15];
        out[61 + i] = byte < ' ' || byte > '~' ? '.' : (char)byte;
    }
    out[61 + count] = '\n';
}

int pyusdt_text_dump(struct pyusdt_text *text, const uint8_t *data, size_t size)
{
    static const char head[] =
        "\n             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  0123456789abcdef\n";

    if (!size)
        return 0;
    if (pyusdt_text_append(text, head, sizeof head - 1) < 0)
        return -ENOMEM;
    for (size_t at = 0; at < size; at += 16) {
        size_t count = size - at < 16 ? size - at : 16;
        char *out = pyusdt_text_reserve(text, 80);
        if (!out)
            return -ENOMEM;
        dump_line(out, data, at, count);
        text->size += 62 + count;
    }
    return 0;
}

bool pyusdt_text_printable(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = data[i];
        if (!((byte >= ' ' && byte <= '~') || (byte >= '\a' && byte <= '\r')))
            return false; /* \a \b \t \n \v \f \r are 7 to 13 */
    }
    return true;
}
