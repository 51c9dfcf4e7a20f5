/* Truncates a text to the length that an event can hold (see pyusdt.h). */
#define _GNU_SOURCE
#include <string.h>

#include "target/target.h"

static int is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Where to truncate UTF-8 text of more than `most` bytes: before the character that does not fit.
 * Text that is not UTF-8 is truncated at the limit. */
static uint32_t character_boundary(const char *text, uint32_t most)
{
    uint32_t end = most;

    while (most - end < 3 && is_inside_character(text[end]))
        end--;
    return is_inside_character(text[end]) ? most : end;
}

uint32_t pyusdt_text_truncated_length(const char *text, size_t size, uint32_t most)
{
    size_t length = strnlen(text, size <= most ? size : most + 1);

    return length > most ? character_boundary(text, most) : (uint32_t)length;
}

uint32_t pyusdt_text_length(const char *text, size_t size)
{
    return pyusdt_text_truncated_length(text, size, PYUSDT_MAX_STRING);
}
