/* The bell of a control file: who has changed what he wants of its process rings it (docs/internals/ring.md, "Wakeup"). */
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
