/*
 * Points between two shared stores where a test build stops or dies. A normal build has none.
 *
 * Numbers: 1-7 firing, 10-15 publishing, 16-18 a new code location, 19 watching, 20-26 serving a
 * session (target); 30-37 the tracer. docs/internals/ring.md lists them.
 */
#ifndef PYUSDT_TEST_HOOK_H
#define PYUSDT_TEST_HOOK_H

#ifdef PYUSDT_TEST_HOOKS
void pyusdt_hook(int place);
#define PYUSDT_HOOK(place) pyusdt_hook(place)
#else
#define PYUSDT_HOOK(place) ((void)0)
#endif

#endif
