/*
 * The records that the clauses emitted, in one buffer. With a formatter, records are printed as
 * they come, if they can be.
 *
 * - Printed text is one record of PYUSDT_RECORD_TEXT (docs/internals/program.md) of any size,
 *   before the others.
 * - Text and records are in the order in which they were added.
 * - A record that has to wait (an action of the caller's, a fault, a probe without a name yet) may
 *   change how later ones are printed, so all behind it wait until the buffer is cleared.
 * - A record without room is refused.
 */
#ifndef PYUSDT_CONSUMER_RECORD_BUFFER_H
#define PYUSDT_CONSUMER_RECORD_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/formatter.h"

/* All zero: empty, nothing is printed. */
struct pyusdt_record_buffer {
    struct pyusdt_text made;
    struct pyusdt_formatter *formatter;
    bool printing; /* `made` is a record of text, without its head as yet */
};

/* 0, or -EAGAIN: there is no room. */
int pyusdt_record_buffer_add(struct pyusdt_record_buffer *o, const void *record, uint32_t size);
/* All since it was cleared: *size bytes. */
const uint8_t *pyusdt_record_buffer_records(struct pyusdt_record_buffer *o, size_t *size);
void pyusdt_record_buffer_clear(struct pyusdt_record_buffer *o);
void pyusdt_record_buffer_free(struct pyusdt_record_buffer *o);

#endif
