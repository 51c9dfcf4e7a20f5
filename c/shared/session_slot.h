/*
 * Session slots: who may change what a slot's bits and `wanted` say in the control files. Both sides use it.
 *
 * The rule (model-checked in tests/model/session.pml): only the holder of the flock of NN.session clears bits of slot NN
 * or takes back its `wanted`. That is the session itself while it lives, and whoever undoes it after its death.
 */
#ifndef PYUSDT_SESSION_SLOT_H
#define PYUSDT_SESSION_SLOT_H

#include <stdbool.h>

#include "shared/layout.h"

#pragma GCC visibility push(hidden)

/* Makes or opens the slot's session file and locks it: fd, -EWOULDBLOCK where somebody has it, or -errno. */
int pyusdt_slot_claim(int dir, uint32_t slot);

/* Unlinks the claimed file, unless its session goes on without a tracer, and gives the slot back. */
void pyusdt_slot_release(int dir, uint32_t slot, int fd);

/* Is this the header of a session that goes on without its tracer? */
bool pyusdt_session_is_kept(const struct pyusdt_session_header *header);

/* Does the session of this slot and generation still have its tracer, or goes on without? */
bool pyusdt_session_is_alive(int dir, uint32_t slot, uint64_t generation);

/* One process, as far as it is about bits. */
struct pyusdt_enable_bits {
    struct pyusdt_ctl_slot *slot;
    _Atomic uint64_t *words;
    uint32_t nprobes;
    uint32_t number; /* of the slot */
};

/* By who holds the slot: bits, then wanted, where it still is `generation`. */
void pyusdt_enable_bits_clear(const struct pyusdt_enable_bits *bits);

/* Undoes what a dead session (0: nobody) wants of a process. -EWOULDBLOCK: the slot is somebody's, who will see to it. */
int pyusdt_enable_bits_undo(const struct pyusdt_enable_bits *bits, int dir, uint64_t generation);

#pragma GCC visibility pop

#endif
