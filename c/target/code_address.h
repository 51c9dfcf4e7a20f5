/*
 * What code an address of this process is.
 *
 * In:  addresses. Out: words, each the address as a place of its file and the offset there (pyusdt_code_frame).
 * Always: what /proc/self/maps says is code, and nothing else. Called from signal handlers, too. Linux; elsewhere there is none.
 */
#ifndef PYUSDT_CODE_ADDRESS_H
#define PYUSDT_CODE_ADDRESS_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

#define PYUSDT_NO_CODE UINT64_MAX

uint64_t pyusdt_code_word(uint64_t address);

#pragma GCC visibility pop

#endif
