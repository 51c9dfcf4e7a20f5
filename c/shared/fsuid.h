/*
 * Root at work in another user's directory is that user: for the calling thread, and until it is done, the kernel lets it do
 * what he could do himself, and nothing else. So it needs no check that what he has put there is harmless.
 */
#ifndef PYUSDT_FSUID_H
#define PYUSDT_FSUID_H

#include "shared/os.h"

#pragma GCC visibility push(hidden)

struct pyusdt_saved_fsuid {
    bool is_switched;
    struct pyusdt_os_credentials credentials;
};

/* The thread acts as this user with this one group, or as the owner and the group of a directory. Nothing changes where the
 * caller is that user. 0, or -EPERM: only root can, and only where the system has such a thing (Linux). */
int pyusdt_fsuid_switch(uint32_t uid, uint32_t gid, struct pyusdt_saved_fsuid *saved);
int pyusdt_fsuid_switch_to_owner(int dir, struct pyusdt_saved_fsuid *saved);

/* The thread is itself again. errno stays as it is. */
void pyusdt_fsuid_restore(const struct pyusdt_saved_fsuid *saved);

#pragma GCC visibility pop

#endif
