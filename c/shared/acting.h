/*
 * Root at work in another user's directory is that user: for the calling thread, and until it is done, the kernel lets it do
 * what he could do himself, and nothing else. So it needs no check that what he has put there is harmless.
 */
#ifndef PYUSDT_ACTING_H
#define PYUSDT_ACTING_H

#include "shared/os.h"

#pragma GCC visibility push(hidden)

struct pyusdt_acting {
    bool as_other;
    struct pyusdt_os_self self;
};

/* As this user with this one group, or as the owner and the group of a directory; nothing changes where the caller is he. 0, or -EPERM: who is not root can not,
 * nor can anybody where the system has no such thing. */
int pyusdt_act_as(uint32_t uid, uint32_t gid, struct pyusdt_acting *acting);
int pyusdt_act_as_owner(int dir, struct pyusdt_acting *acting);

/* Errno stays as it is. */
void pyusdt_act_no_more(const struct pyusdt_acting *acting);

#pragma GCC visibility pop

#endif
