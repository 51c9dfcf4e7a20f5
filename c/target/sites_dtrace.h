/*
 * Probe sites by the system's dtrace(1) on macOS, FreeBSD and illumos. c/build_sites.py has the
 * command lines.
 *
 * `dtrace -h` makes generated/user_trace_dtrace.h, a macro for each probe and for its is-enabled
 * test; generated/user_trace_dtrace.inc applies the macros. Each probe becomes a function, which
 * the object from `dtrace -G` (macOS: the linker) registers with the system.
 *
 * - A site and its test are separate functions. No compiler inlines them, because their addresses
 *   are taken.
 * - A probe has at most ten arguments, the limit of these systems.
 * - There are no semaphores. The system patches an instruction while a tracer is attached, so the
 *   test is a call.
 */
#ifndef PYUSDT_SITES_DTRACE_H
#define PYUSDT_SITES_DTRACE_H

/* dtrace -h gives its macros the same names as user_trace.h has for the probes' numbers, which
 * are not needed here. */
#undef PYUSDT_USER_TRACE_S1
#undef PYUSDT_USER_TRACE_I4S4
#undef PYUSDT_USER_TRACE_N0
#include "generated/user_trace_dtrace.h"

#if defined(__clang__)
#define PYUSDT_SITE_FUNCTION __attribute__((noinline, used, visibility("hidden")))
#else
#define PYUSDT_SITE_FUNCTION __attribute__((noipa, used, visibility("hidden")))
#endif

#define PYUSDT_PROBE(function, probe, arguments) \
    PYUSDT_SITE_FUNCTION void function(const uint64_t *values); \
    PYUSDT_SITE_FUNCTION void function(const uint64_t *values) \
    { \
        probe arguments; \
    } \
    PYUSDT_SITE_FUNCTION int function##_attached(void); \
    PYUSDT_SITE_FUNCTION int function##_attached(void) \
    { \
        return probe##_ENABLED() != 0; \
    }
#include "generated/user_trace_dtrace.inc"
#undef PYUSDT_PROBE

void pyusdt_site_hit(unsigned probe, const uint64_t *values)
{
    static void (*const sites[])(const uint64_t *) = {
#define PYUSDT_PROBE(function, probe, arguments) function,
#include "generated/user_trace_dtrace.inc"
#undef PYUSDT_PROBE
    };
    sites[probe](values);
}

int pyusdt_attached(unsigned probe)
{
    static int (*const tests[])(void) = {
#define PYUSDT_PROBE(function, probe, arguments) function##_attached,
#include "generated/user_trace_dtrace.inc"
#undef PYUSDT_PROBE
    };
    return tests[probe]();
}

#endif
