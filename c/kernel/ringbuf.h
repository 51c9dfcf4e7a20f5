/*
 * The kernel's ring buffer (BPF_MAP_TYPE_RINGBUF), read through mmap.
 *
 * - A read gives whole, untrimmed records in the order of time, and returns their room to the
 *   kernel at once.
 */
#ifndef PYUSDT_KERNEL_RINGBUF_H
#define PYUSDT_KERNEL_RINGBUF_H

#include <stddef.h>
#include <stdint.h>

#include "shared/error.h"
#include "kernel/record_untrim.h"

struct pyusdt_kernel_ring;

/* size: the map's max_entries, bytes, a power of two.  cuts: copied; at most `size` bytes are a whole record.  The
 * descriptor stays the caller's. */
int pyusdt_kernel_ring_open(int fd, uint64_t size, const struct pyusdt_trimmed_strings *cuts,
                            struct pyusdt_kernel_ring **out, struct pyusdt_error *err);
void pyusdt_kernel_ring_close(struct pyusdt_kernel_ring *ring);

/* Take the records that are complete, or as many as a buffer of this size holds; returns their bytes, valid until the
 * next call, *size of them.  Each record begins as program/program.py says. */
const uint8_t *pyusdt_kernel_ring_read(struct pyusdt_kernel_ring *ring, size_t *size);

#endif
