/* Acting as another user: see fsuid.h. */
#define _GNU_SOURCE
#include "shared/fsuid.h"

#include <unistd.h>

int pyusdt_act_as(uint32_t uid, uint32_t gid, struct pyusdt_acting *acting)
{
    acting->as_other = uid != geteuid();
    return acting->as_other && !pyusdt_os_act_as(uid, gid, &acting->self) ? -EPERM : 0;
}

int pyusdt_act_as_owner(int dir, struct pyusdt_acting *acting)
{
    struct stat st;

    acting->as_other = false;
    if (geteuid() != 0) /* a directory of somebody else's would not have been opened */
        return 0;
    return fstat(dir, &st) != 0 ? -errno : pyusdt_act_as(st.st_uid, st.st_gid, acting);
}

void pyusdt_act_no_more(const struct pyusdt_acting *acting)
{
    int error = errno;

    if (acting->as_other)
        pyusdt_os_act_again(&acting->self);
    errno = error;
}
