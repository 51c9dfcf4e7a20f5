/*
 * The probe sites of the built-in provider, where tracers attach.
 *
 * - A call runs the instruction at the probe's note, with the argument words in the registers that
 *   the note names.
 * - Each probe has one site and one semaphore. A site never crosses a page, and nothing live lies
 *   below the stack pointer there.
 * - A semaphore is a hint: a probe may fire once after the tracer has detached.
 * - A string must be in resident memory before the site is hit, because a kernel tracer cannot
 *   handle a page fault.
 */
#ifndef PYUSDT_SITES_H
#define PYUSDT_SITES_H

#include <stdint.h>

#include "../include/pyusdt.h"
#include "generated/user_trace.h"

/* By dtrace(1) if setup.py says so, else our own. 32-bit processors have none: an int64_t argument
 * does not fit a register there. */
#if defined(PYUSDT_SITES_DTRACE)
#define PYUSDT_SITES 1
#elif defined(__linux__) && defined(__ELF__) && defined(__LP64__) && !defined(PYUSDT_NO_SITES)
#define PYUSDT_SITES 1
#else
#define PYUSDT_SITES 0
#if defined(PYUSDT_REQUIRE_SITES)
#error "PYUSDT_REQUIRE_PROBES: there are no probe sites for this system and processor"
#endif
#endif

/* Are there objects of run-time providers, which are made for these processors only
 * (elf_write.h)? */
#if PYUSDT_SITES && !defined(PYUSDT_SITES_DTRACE) && !defined(PYUSDT_SITES_GENERIC) && \
    (defined(__x86_64__) || defined(__aarch64__))
#define PYUSDT_OBJECTS 1
#else
#define PYUSDT_OBJECTS 0
#endif

/* Hit a probe's site. values: PYUSDT_MAX_ARGS words, a string's is its address. Does nothing
 * without sites. */
void pyusdt_site_hit(unsigned probe, const uint64_t *values) __attribute__((visibility("hidden")));

/* The arguments of the general and the numbered probes, as include/user_trace.d has them. */
#define PYUSDT_INTEGERS 4
#define PYUSDT_STRINGS 4
#define PYUSDT_VALUES (PYUSDT_INTEGERS + PYUSDT_STRINGS)
enum {
    PYUSDT_ARG_PROC = 0,
    PYUSDT_ARG_TAG = 1,
    PYUSDT_ARG_INTEGER = 2,
    PYUSDT_ARG_STRING = PYUSDT_ARG_INTEGER + PYUSDT_INTEGERS,
    PYUSDT_ARG_COUNT = PYUSDT_ARG_STRING + PYUSDT_STRINGS,
};

/* Offers an event of one of them to all tracers that want it: at the site, and in the rings. */
static inline void pyusdt_firing_offer(const struct pyusdt_firing *firing)
{
    if (firing->attached)
        pyusdt_site_hit(firing->probe, firing->args.value);
    pyusdt_firing_fire(firing);
}

#endif
