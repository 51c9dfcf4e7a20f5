/*
 * The native stack of the thread that fires, by frame pointers.
 *
 * The result is one word a frame: the return address as code file and offset (pyusdt_code_frame).
 *
 * - Only memory that the kernel reports as readable is read, upwards, and within the thread's stack
 *   if its end is known.
 * - A return address outside code ends the stack.
 * - The functions may be called from signal handlers.
 * - Linux on x86-64 and aarch64 only. Elsewhere there are no frames.
 */
#ifndef PYUSDT_FRAME_POINTERS_H
#define PYUSDT_FRAME_POINTERS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* The frames behind `frame`, at most `most`; *more: there are others. */
uint32_t pyusdt_read_native_frames(const uintptr_t *frame, uint64_t *words, uint32_t most,
                                   bool *more);

#pragma GCC visibility pop

#endif
