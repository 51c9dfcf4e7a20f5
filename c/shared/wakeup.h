/* The bell of a control file: who has changed what he wants of its process rings it (docs/internals/ring.md, "The bell"). */
#ifndef PYUSDT_WAKEUP_H
#define PYUSDT_WAKEUP_H

#include "shared/layout.h"
#include "shared/os.h"

static inline void pyusdt_bell_ring(struct pyusdt_ctl_header *ctl)
{
    atomic_fetch_add(&ctl->bell, 1);
    pyusdt_os_word_wake(&ctl->bell);
}

#endif
