/* What Linux alone has, or tells: on other systems there is none of it. See os.h. */
#if !defined(__linux__)
#include "shared/os.h"

int pyusdt_os_memory_limits(pyusdt_os_limit_fn *fn, void *arg)
{
    (void)fn, (void)arg;
    return 0;
}

int pyusdt_os_address_limit(pyusdt_os_limit_fn *fn, void *arg)
{
    (void)fn, (void)arg;
    return 0;
}

bool pyusdt_os_give_up_rights(void)
{
    return false;
}

bool pyusdt_os_follow_rights(void)
{
    return false;
}
#endif
