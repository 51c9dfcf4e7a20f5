/*
 * The values that sessions read by paths (fetch_program.h) at events of code, as further arguments.
 *
 * - A session's paths are compiled before its probes are on, or when an event comes that it is
 *   interested in.
 * - The traced program forbids paths with the names that it has redacted (secret_names.h): their
 *   values are absent.
 * - A session may set how many bytes of values a second it wants of a process. Events beyond that are
 *   its drops, and their values are not read.
 */
#ifndef PYUSDT_CORE_SESSION_VALUES_H
#define PYUSDT_CORE_SESSION_VALUES_H

#include <Python.h>

#include "_core_c/vm/python_provider.h"
#include "pyusdt.h"

#pragma GCC visibility push(hidden)

/* Fires for those of the event's sessions that read paths, each with its own values and unless its
 * conditions (value_conditions.h) are against it, and returns the other sessions. The further
 * arguments are absent before and after. */
uint64_t pyusdt_vm_paths_offer(struct pyusdt_firing *firing, const struct pyusdt_pyvm_event *event,
                               uint32_t place);

extern uint64_t pyusdt_vm_line_deciders; /* bit s: session s has conditions on lines */

/* Whether some of these sessions have such conditions. */
static inline int pyusdt_vm_paths_decide(uint64_t sessions)
{
    return (sessions & __atomic_load_n(&pyusdt_vm_line_deciders, __ATOMIC_RELAXED)) != 0;
}

/* Those of these sessions that may want an event of the probe `line` at a line. */
uint64_t pyusdt_vm_paths_at_line(uint64_t sessions, int line);

/* Reports variables that these sessions' paths name and that the code does not have, once each;
 * probe: its index. */
void pyusdt_vm_paths_check(PyCodeObject *code, unsigned probe, uint64_t sessions,
                           const char *module, const char *function);

/* Once, before the provider's probes are published. */
void pyusdt_vm_paths_start(void);

/* Compiles the paths of sessions that have come; with the GIL. */
void pyusdt_vm_paths_prepare(void);

/* Whether what is reported to sessions that read paths is not what it should be; without the GIL. */
int pyusdt_vm_paths_must_explain(void);

/* Reports why values of the sessions that are still there are absent, or nothing; with the GIL. */
void pyusdt_vm_paths_explain(void);

#pragma GCC visibility pop

#endif
