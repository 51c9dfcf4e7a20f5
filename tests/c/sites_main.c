/*
 * A process with the user-trace probes and no Python: fires user_trace-i4s4 and user_trace-n950 every 10 ms, at the site and
 * into the rings. Output: "on" when somebody is attached, "off" when nobody is any more, then it ends; after 60 s in any case.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "target/sites.h"

static void set(struct pyusdt_args *args, unsigned i, const char *text)
{
    args->value[i] = (uintptr_t)text;
    args->length[i] = (uint32_t)strlen(text);
}

static void fire(unsigned probe)
{
    struct pyusdt_args args = {.value = {0, 0, 1, (uint64_t)-2, 3, (uint64_t)-(1ll << 40)}};

    set(&args, 0, "<who>");
    set(&args, 1, "the tag");
    set(&args, 6, "s1");
    set(&args, 7, "zwölf");
    if (pyusdt_attached(probe))
        pyusdt_site_hit(probe, args.value);
    if (pyusdt_wanted(probe) && pyusdt_demand(probe))
        pyusdt_fire(probe, &args);
}

int main(void)
{
    const struct pyusdt_probe_desc table[] = {PYUSDT_USER_TRACE_FAMILIES("sites_main")};
    const struct timespec pause = {0, 10000000};
    unsigned n950 = PYUSDT_PROBE_COUNT - 1;
    int was = 0;

    if (pyusdt_publish(table, sizeof table / sizeof table[0]) != 0)
        return 1;
    puts("ready");
    fflush(stdout);
    for (int i = 0; i < 6000; i++) {
        int on = pyusdt_enabled(PYUSDT_PROBE_COUNT - 952) || pyusdt_enabled(n950);
        if (on != was)
            puts(on ? "on" : "off");
        fflush(stdout);
        if (was && !on)
            return 0;
        was = on;
        fire(PYUSDT_PROBE_COUNT - 952); /* i4s4; its macro is the header's of dtrace -h */
        fire(n950);
        nanosleep(&pause, NULL);
    }
    return 2;
}
