/* Writes provider objects for test_elf_write.py: elf_main x86_64|aarch64 FILE PROVIDER [PROBE TYPES]…  TYPES: hex bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/elf_write.h"

int main(int argc, char **argv)
{
    const struct pyusdt_elf_machine *machine =
        strcmp(argv[1], "aarch64") == 0 ? &pyusdt_elf_aarch64 : &pyusdt_elf_x86_64;
    unsigned n = (unsigned)(argc - 4) / 2;
    struct pyusdt_probe_def *probes = calloc(n + 1, sizeof *probes);
    struct pyusdt_error why;
    struct pyusdt_elf elf;
    FILE *file;
    int r;

    for (unsigned i = 0; i < n; i++) {
        const char *types = argv[5 + 2 * i];
        probes[i].name = argv[4 + 2 * i];
        probes[i].nargs = (unsigned)strlen(types) / 2;
        for (unsigned k = 0; k < probes[i].nargs && k < PYUSDT_MAX_ARGS; k++)
            sscanf(types + 2 * k, "%2hhx", &probes[i].type[k]);
    }
    r = pyusdt_elf_write(machine, argv[3], probes, n, &elf, &why);
    free(probes);
    if (r != 0) {
        fprintf(stderr, "%s\n", why.message);
        return -r;
    }
    file = fopen(argv[2], "wb");
    if (!file || fwrite(elf.data, 1, elf.size, file) != elf.size || fclose(file) != 0)
        return 1;
    free(elf.data);
    return 0;
}
