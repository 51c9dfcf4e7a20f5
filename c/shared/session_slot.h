/*
 * Session slots: who may change the bits and `wanted` of a slot in the control files.
 *
 * - Only the holder of the lock (flock) of NN.session clears bits of slot NN or withdraws its
 *   `wanted`. That is the session itself while it lives, and whoever cleans up after its death.
 *   tests/spin/session.pml checks this rule.
 */
#ifndef PYUSDT_SESSION_SLOT_H
#define PYUSDT_SESSION_SLOT_H

#include <stdbool.h>

#include "shared/layout.h"

#pragma GCC visibility push(hidden)

/* Makes or opens the slot's session file and locks it: fd, -EWOULDBLOCK if another process holds
 * the lock, or -errno. */
int pyusdt_slot_claim(int dir, uint32_t slot);

/* Unlinks the claimed file, unless its session continues without a tracer, and frees the slot. */
void pyusdt_slot_release(int dir, uint32_t slot, int fd);

/* Is this the header of a session that continues without its tracer? */
bool pyusdt_session_is_kept(const struct pyusdt_session_header *header);

/* Does the session of this slot and generation still have its tracer, or does it continue without
 * one? */
bool pyusdt_session_is_alive(int dir, uint32_t slot, uint64_t generation);

/* One process, as far as it is about bits. */
struct pyusdt_enable_bits {
    struct pyusdt_ctl_slot *slot;
    _Atomic uint64_t *words;
    uint32_t nprobes;
    uint32_t number; /* of the slot */
};

/* By the holder of the slot: clears the bits, then `wanted`, if it is still `generation`. */
void pyusdt_enable_bits_clear(const struct pyusdt_enable_bits *bits);

/* Removes the demand of a dead session (0: none) from a process. -EWOULDBLOCK: another process
 * holds the slot, and will do it. */
int pyusdt_enable_bits_undo(const struct pyusdt_enable_bits *bits, int dir, uint64_t generation);

#pragma GCC visibility pop

#endif
