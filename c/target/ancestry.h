/* The chain of parent processes that a target writes into its control file. */
#ifndef PYUSDT_ANCESTRY_H
#define PYUSDT_ANCESTRY_H

#include <stdint.h>

#include "shared/limits.h"

#pragma GCC visibility push(hidden)

/* In a forked child: its parent is the process that the copied chain belongs to. */
void pyusdt_ancestry_fork(void);

/* Copies this process's chain to `ancestors`; reads it first if this process did not register
 * before. */
void pyusdt_ancestry_copy(uint32_t ancestors[PYUSDT_CTL_ANCESTORS]);

#pragma GCC visibility pop

#endif
