/*
 * Lets root act as another user in that user's directory.
 *
 * Until it is undone, the kernel allows the calling thread only what that user may do. The contents
 * of the directory thus need no check.
 */
#ifndef PYUSDT_FSUID_H
#define PYUSDT_FSUID_H

#include "shared/os.h"

#pragma GCC visibility push(hidden)

struct pyusdt_saved_fsuid {
    bool is_switched;
    struct pyusdt_os_credentials credentials;
};

/* Makes the thread act as this user with this one group, or as the owner and the group of a
 * directory. Nothing changes if the caller is that user. 0, or -EPERM: only root can, and only on a
 * system that supports it (Linux). */
int pyusdt_fsuid_switch(uint32_t uid, uint32_t gid, struct pyusdt_saved_fsuid *saved);
int pyusdt_fsuid_switch_to_owner(int dir, struct pyusdt_saved_fsuid *saved);

/* The thread is itself again. errno stays as it is. */
void pyusdt_fsuid_restore(const struct pyusdt_saved_fsuid *saved);

#pragma GCC visibility pop

#endif
