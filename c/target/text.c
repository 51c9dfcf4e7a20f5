/* How much of a text an event holds: see pyusdt.h. */
#include <string.h>

#include "../include/pyusdt.h"

static int is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Where to cut UTF-8 text of more than PYUSDT_MAX_STRING bytes: before the character that does not fit.  Text that is no UTF-8
 * is cut at the limit. */
static uint32_t character_boundary(const char *text)
{
    uint32_t end = PYUSDT_MAX_STRING;

    while (PYUSDT_MAX_STRING - end < 3 && is_inside_character(text[end]))
        end--;
    return is_inside_character(text[end]) ? PYUSDT_MAX_STRING : end;
}

uint32_t pyusdt_text_length(const char *text, size_t size)
{
    size_t length = strnlen(text, size <= PYUSDT_MAX_STRING ? size : PYUSDT_MAX_STRING + 1);

    return length > PYUSDT_MAX_STRING ? character_boundary(text) : (uint32_t)length;
}
