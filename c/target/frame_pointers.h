/*
 * The native stack of the thread that fires, by frame pointers.
 *
 * In:  where a function's frame pointer is. Out: words, each a return address as the place of its file and the offset there
 *      (pyusdt_code_frame). Linux on x86-64 and aarch64; elsewhere there are none.
 * Always: nothing is read but memory that the kernel says can be read, upwards, within the thread's stack as far as its end is
 *      known; what leads to no code ends the stack. Called from signal handlers, too.
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
