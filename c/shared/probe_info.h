/*
 * How target and tracer describe a probe: what a session wants of it (struct pyusdt_want, in the
 * session file), and its name and arguments (struct pyusdt_probe_info, in a probe table).
 */
#ifndef PYUSDT_PROBE_INFO_H
#define PYUSDT_PROBE_INFO_H

#include <stdint.h>

#include "pyusdt.h"
#include "shared/limits.h"

/* One probe description of the program. If several match a probe, all that they want of it is
 * delivered. */
struct pyusdt_want {
    uint32_t pid;                    /* only in this process; 0: any */
    char provider[PYUSDT_GLOB_SIZE]; /* matched with the pid: pyusdt1234 */
    char module[PYUSDT_GLOB_SIZE];
    char function[PYUSDT_GLOB_SIZE];
    char name[PYUSDT_GLOB_SIZE];
    uint32_t args;                   /* bit i: argument i is read */
    uint16_t bytes[PYUSDT_MAX_ARGS]; /* of the string that argument i is; 0: only its address */
    uint32_t counts;                 /* 1: how often it fires at a place is all that is wanted */
    /* of the stack; 0: it is not wanted; with PYUSDT_WANT_NATIVES as many native ones, too */
    uint32_t frames;
};

enum {
    PYUSDT_PLACES_NONE,
    PYUSDT_PLACES_OPEN,  /* it has places; module and function are "" */
    PYUSDT_PLACES_KNOWN, /* it is such a probe at one of them */
};

#define PYUSDT_WANT_NATIVES (1u << 31)

struct pyusdt_probe_info {
    uint32_t index;
    uint32_t nargs;
    uint32_t strings;
    uint32_t places;   /* PYUSDT_PLACES_… */
    uint32_t sessions; /* of pyusdt_list_probes(): how many listen to it */
    char provider[64]; /* with the pid */
    char module[PYUSDT_PLACE_MODULE + 1];
    char function[PYUSDT_PLACE_FUNCTION + 1];
    char name[128];
    char signature[PYUSDT_SIGNATURE_SIZE]; /* as the process says: not checked */
};

#endif
