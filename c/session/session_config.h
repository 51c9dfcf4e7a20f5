/* What a caller chooses of a session, and how large it may become. */
#ifndef PYUSDT_SESSION_SESSION_CONFIG_H
#define PYUSDT_SESSION_SESSION_CONFIG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PYUSDT_TARGETS_MAX 65536 /* processes that one session reads at once */

/* 0 or NULL anywhere: the default. */
struct pyusdt_session_config {
    uint64_t bufsize;   /* bytes of one ring, rounded up to a power of two, 64 KiB … 1 GiB; 1 MiB */
    uint32_t max_rings; /* per process, 1 … PYUSDT_RINGS_MAX; all of them */
    uint64_t
        orderlag_ns;  /* how long delivery waits for a producer that is inside a firing; 100 ms */
    const char *comm; /* only processes of this name join; any */
    pid_t
        home; /* if no directory is named: a process in whose run directory it is opened; the user's own */
    bool children; /* processes that are named by pid join with their descendants */
    /* A session that goes on when its tracer ends, until a tracer opens one of the same name for the same probes: */
    const char *keep;    /* its name; "": none */
    uint64_t keep_ns;    /* for how long */
    uint64_t keep_bytes; /* how many bytes of rings all processes together may have */
};

#endif
