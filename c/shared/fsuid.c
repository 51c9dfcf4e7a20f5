/* Changes the file-system user of the calling thread (see fsuid.h). */
#define _GNU_SOURCE
#include "shared/fsuid.h"

#include <unistd.h>

int pyusdt_fsuid_switch(uint32_t uid, uint32_t gid, struct pyusdt_saved_fsuid *saved)
{
    saved->is_switched = uid != geteuid();
    return saved->is_switched && !pyusdt_os_fsuid_set(uid, gid, &saved->credentials) ? -EPERM : 0;
}

int pyusdt_fsuid_switch_to_owner(int dir, struct pyusdt_saved_fsuid *saved)
{
    struct stat st;

    saved->is_switched = false;
    if (geteuid() != 0) /* another user's directory would not have been opened */
        return 0;
    return fstat(dir, &st) != 0 ? -errno : pyusdt_fsuid_switch(st.st_uid, st.st_gid, saved);
}

void pyusdt_fsuid_restore(const struct pyusdt_saved_fsuid *saved)
{
    int error = errno;

    if (saved->is_switched)
        pyusdt_os_fsuid_restore(&saved->credentials);
    errno = error;
}
