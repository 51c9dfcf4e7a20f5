/* Points between two stores into another process, where a test build kills or stops the process that makes them. A normal build has none. */
#ifndef PYUSDT_ATTACH_HOOK_H
#define PYUSDT_ATTACH_HOOK_H

#ifdef PYUSDT_ATTACH_HOOKS
void pyusdt_attach_hook(int place);
#define PYUSDT_ATTACH_HOOK(place) pyusdt_attach_hook(place)
#else
#define PYUSDT_ATTACH_HOOK(place) ((void)0)
#endif

#endif
