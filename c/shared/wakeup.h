/*
 * The wakeup word of a control file: a tracer that changes its demand wakes the target's watcher
 * (docs/internals/ring.md).
 */
#ifndef PYUSDT_WAKEUP_H
#define PYUSDT_WAKEUP_H

#include "shared/layout.h"
#include "shared/os.h"

static inline void pyusdt_watcher_wake(struct pyusdt_ctl_header *ctl)
{
    atomic_fetch_add(&ctl->wakeup, 1);
    pyusdt_os_word_wake(&ctl->wakeup);
}

#endif
