/* See record_buffer.h. */
#include "consumer/record_buffer.h"

#include <errno.h>

#include "generated/program.h"

enum { BOUND = 64 << 20 }; /* bytes between two clears */

static bool begin_text(struct pyusdt_record_buffer *o)
{
    if (!o->printing && o->made.size == 0 && pyusdt_text_reserve(&o->made, PYUSDT_TEXT_DATA)) {
        o->made.size = PYUSDT_TEXT_DATA;
        o->printing = true;
    }
    return o->printing;
}

static void put(struct pyusdt_record_buffer *o, size_t offset, uint32_t word)
{
    memcpy(o->made.data + offset, &word, sizeof word);
}

static void end_text(struct pyusdt_record_buffer *o)
{
    if (!o->printing)
        return;
    o->printing = false;
    if (o->made.size == PYUSDT_TEXT_DATA)
        o->made.size = 0; /* there is none */
    memset(o->made.data, 0, PYUSDT_TEXT_DATA);
    put(o, PYUSDT_RECORD_SIZE, (uint32_t)o->made.size);
    put(o, PYUSDT_RECORD_CLAUSE, PYUSDT_RECORD_TEXT);
}

static bool print(struct pyusdt_record_buffer *o, const uint8_t *record, uint32_t size)
{
    if (!o->formatter || !begin_text(o))
        return false;
    if (pyusdt_format_at_once(o->formatter, record, size, &o->made))
        return true;
    end_text(o);
    return false;
}

int pyusdt_record_buffer_add(struct pyusdt_record_buffer *o, const void *record, uint32_t size)
{
    if (o->made.size + size > BOUND)
        return -EAGAIN;
    return print(o, record, size) || pyusdt_text_append(&o->made, record, size) == 0 ? 0 : -EAGAIN;
}

const uint8_t *pyusdt_record_buffer_records(struct pyusdt_record_buffer *o, size_t *size)
{
    end_text(o);
    *size = o->made.size;
    return (const uint8_t *)o->made.data;
}

void pyusdt_record_buffer_clear(struct pyusdt_record_buffer *o)
{
    o->made.size = 0;
    o->printing = false;
}

void pyusdt_record_buffer_free(struct pyusdt_record_buffer *o)
{
    pyusdt_text_free(&o->made);
}
