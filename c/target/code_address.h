/*
 * Maps an address of this process to a code file and an offset (pyusdt_code_frame).
 *
 * - Only memory that /proc/self/maps lists as executable is code.
 * - The functions may be called from signal handlers.
 * - Linux only. On other systems no address is code.
 */
#ifndef PYUSDT_CODE_ADDRESS_H
#define PYUSDT_CODE_ADDRESS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

#define PYUSDT_NO_CODE UINT64_MAX

uint64_t pyusdt_code_word(uint64_t address);

#pragma GCC visibility pop

#endif
