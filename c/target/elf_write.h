/*
 * Makes the ELF shared object of a provider, which shows probes that are defined at run time to
 * every USDT tracer.
 *
 * - For each probe the object has a site, a 16-bit semaphore, and a stapsdt note that describes
 *   both.
 * - The same probes give the same bytes, and different probes give different bytes.
 * - The object runs no code when it is loaded, and it needs no library and no relocation.
 */
#ifndef PYUSDT_ELF_WRITE_H
#define PYUSDT_ELF_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "../include/pyusdt.h"

#pragma GCC visibility push(hidden)

/* The layout of a processor's sites, the same as in sites_x86_64.h and sites_aarch64.h. */
struct pyusdt_elf_machine {
    uint16_t number;  /* e_machine */
    uint16_t site;    /* the offset of the nop, which the note names, in the 32 bytes of a site */
    uint16_t entry;   /* and the offset of the function */
    uint8_t code[32]; /* one site */
    const char *registers[PYUSDT_MAX_ARGS]; /* of the arguments, as the note writes them */
};

extern const struct pyusdt_elf_machine pyusdt_elf_x86_64, pyusdt_elf_aarch64;

/* The processor that this is compiled for, or NULL: then there are no objects. */
const struct pyusdt_elf_machine *pyusdt_elf_native(void);

#define PYUSDT_ELF_STRIDE 32                               /* from one function to the next */
#define PYUSDT_ELF_SITES "pyusdt_provider_sites"           /* symbol: the first site's 32 bytes */
#define PYUSDT_ELF_SEMAPHORES "pyusdt_provider_semaphores" /* symbol: uint16_t, one a probe */
#define PYUSDT_ELF_ID_SIZE 8 /* bytes of the hash of its contents; its build id begins with it */

struct pyusdt_elf {
    uint8_t *data; /* malloc'ed */
    size_t size;
    uint8_t id[PYUSDT_ELF_ID_SIZE];
};

/* 0, -ENOMEM, or -EINVAL for an invalid name or type, with the reason in `why`. The caller frees
 * elf->data. */
int pyusdt_elf_write(const struct pyusdt_elf_machine *machine, const char *provider,
                     const struct pyusdt_probe_def *probes, unsigned n, struct pyusdt_elf *elf,
                     struct pyusdt_error *why);

/* The name of a probe's function, as tracers show it: `shop_order_placed`.  0 or -ENAMETOOLONG. */
int pyusdt_elf_function(const char *provider, const char *name, char *function, size_t size);

#pragma GCC visibility pop

#endif
