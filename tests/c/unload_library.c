/* A library with the C core in it, which unload_main loads and unloads: it publishes, watches and fires. */
#include "hook_kill.h"
#include "pyusdt.h"

#define EXPORTED __attribute__((visibility("default")))

static const struct pyusdt_probe_desc probes[] = {
    {.provider = "unload", .module = "", .function = "", .name = "hit", .nargs = 1}};

static void changed(void *unused)
{
    (void)unused;
}

EXPORTED int begin(int with_watch)
{
    static struct pyusdt_watch watch = {.changed = changed, .n = 1};
    int r = pyusdt_publish(probes, 1);

    return r == 0 && with_watch ? pyusdt_watch_start(&watch) : r;
}

EXPORTED int fire(int count)
{
    struct pyusdt_args args = {.value = {0}};
    int fired = 0;

    for (int i = 0; i < count; i++)
        if (pyusdt_demand(0) != 0) {
            pyusdt_fire(0, &args);
            fired++;
        }
    return fired;
}
