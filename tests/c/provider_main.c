/* Defines a provider, hits its sites and fires its probes, for test_core_aarch64.py: provider_main. Prints the object's path. */
#include <stdio.h>
#include <string.h>

#include "target/sites.h"

int main(void)
{
    static const struct pyusdt_probe_desc table[] = {PYUSDT_USER_TRACE_FAMILIES("provider_main")};
    static const struct pyusdt_probe_def probes[] = {
        {"one", 2, {PYUSDT_INT | 8, PYUSDT_STRING}, 0, {NULL}},
        {"two",
         12,
         {0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28, 0x28},
         0,
         {NULL}},
    };
    struct pyusdt_args args = {.value = {17, (uintptr_t)"text"}, .length = {0, 4}};
    struct pyusdt_probe_site sites[2];
    struct pyusdt_error why;
    char path[4096];
    int published = pyusdt_publish(table, sizeof table / sizeof table[0]);
    int r = pyusdt_provider_define("cross", probes, 2, sites, path, sizeof path, &why);

    if (published != 0 || r != 0 || sites[0].entry == NULL) {
        fprintf(stderr, "publish %d, define %d: %s\n", published, r, why.message);
        return 1;
    }
    for (unsigned i = 0; i < PYUSDT_PROBE_COUNT; i++)
        pyusdt_site_hit(i, args.value);
    for (unsigned i = 0; i < 2; i++) {
        pyusdt_site_call(sites[i].entry, args.value);
        if (pyusdt_demand(sites[i].index) != 0)
            pyusdt_fire(sites[i].index, &args);
    }
    puts(path);
    return 0;
}
