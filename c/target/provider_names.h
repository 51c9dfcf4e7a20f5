/*
 * The rules for names and argument types of providers that are defined at run time.
 *
 * A violation is -EINVAL, with the value and the rule as text for the user.
 */
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
