/* Records whose strings the kernel's programs have cut behind their NULs (engine/kernel/passes/record_trim.py), made whole again.
 *
 * In: a cut record; which strings of which clause's records are cut.  Out: the record as the clause laid it out.
 * Always: nothing is read outside of the cut record, nothing written outside of the whole one, whatever they hold. */
#ifndef PYUSDT_KERNEL_RECORD_UNTRIM_H
#define PYUSDT_KERNEL_RECORD_UNTRIM_H

#include <stddef.h>
#include <stdint.h>

/* One string: `size` bytes at `offset` of the whole records, which are `whole` bytes, of a clause. */
struct pyusdt_kernel_cut {
    uint32_t clause, whole, offset, size;
};

/* Ascending by clause, then by offset. */
struct pyusdt_kernel_cuts {
    const struct pyusdt_kernel_cut *each;
    size_t count;
};

/* The first of the strings that are cut in the record, whose header is whole; NULL: it is not cut. */
const struct pyusdt_kernel_cut *pyusdt_kernel_cut_find(const struct pyusdt_kernel_cuts *cuts,
                                                       const uint8_t *record);

/* Write the whole record to `to`, first->whole bytes. */
void pyusdt_kernel_cut_undo(const struct pyusdt_kernel_cuts *cuts,
                            const struct pyusdt_kernel_cut *first, const uint8_t *record,
                            size_t length, uint8_t *to);

#endif
