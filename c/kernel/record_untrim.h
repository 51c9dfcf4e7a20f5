/*
 * Restores records whose strings the kernel's programs trimmed behind their NULs
 * (engine/kernel/passes/record_trim.py).
 *
 * - Whatever a record holds, nothing is read outside of the trimmed one, and nothing is written
 *   outside of the whole one.
 */
#ifndef PYUSDT_KERNEL_RECORD_UNTRIM_H
#define PYUSDT_KERNEL_RECORD_UNTRIM_H

#include <stddef.h>
#include <stdint.h>

/* One string: `size` bytes at `offset` of the whole records, which are `whole` bytes, of a clause. */
struct pyusdt_trimmed_string {
    uint32_t clause, whole, offset, size;
};

/* Ascending by clause, then by offset. */
struct pyusdt_trimmed_strings {
    const struct pyusdt_trimmed_string *each;
    size_t count;
};

/* The first of the strings that are trimmed in the record, whose header is whole; NULL: it is not trimmed. */
const struct pyusdt_trimmed_string *pyusdt_find_trimmed(const struct pyusdt_trimmed_strings *cuts,
                                                        const uint8_t *record);

/* Write the whole record to `to`, first->whole bytes. */
void pyusdt_untrim_record(const struct pyusdt_trimmed_strings *cuts,
                          const struct pyusdt_trimmed_string *first, const uint8_t *record,
                          size_t length, uint8_t *to);

#endif
