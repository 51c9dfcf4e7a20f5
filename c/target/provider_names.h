/* What a provider of run time and its probes may be called, and what arguments they may have.
 *
 * In:      names and types, as the application gave them.
 * Out:     0, or -EINVAL and in `why` what was given and the rule, as it goes to the user. */
#ifndef PYUSDT_PROVIDER_NAMES_H
#define PYUSDT_PROVIDER_NAMES_H

#include <stddef.h>

#include "../include/pyusdt.h"

#pragma GCC visibility push(hidden)

/* pyusdt_provider_check() is in pyusdt.h. */
int pyusdt_probe_check(const char *provider, const struct pyusdt_probe_def *probe,
                       struct pyusdt_error *why);

/* "(id: int64_t, string)", the second of which has no name: writes into text, which it returns. */
const char *pyusdt_signature(const struct pyusdt_probe_def *probe,
                             char text[PYUSDT_SIGNATURE_SIZE]);

#pragma GCC visibility pop

#endif
