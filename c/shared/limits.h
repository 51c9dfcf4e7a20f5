/*
 * The limits of everything that target and tracer share: sessions, probe descriptions, rings. The
 * limits of an event and of a process are in include/pyusdt.h.
 *
 * - The shared files are laid out by these numbers (shared/layout.h), so a changed limit needs a
 *   new PYUSDT_LAYOUT_VERSION.
 */
#ifndef PYUSDT_LIMITS_H
#define PYUSDT_LIMITS_H

#define PYUSDT_GLOB_SIZE 128  /* bytes of one pattern of a probe description, NUL included */
#define PYUSDT_RINGS_MAX 16   /* per process and session */
#define PYUSDT_WANTS_MAX 4096 /* per session */
#define PYUSDT_PIDS_MAX 64    /* processes that one session names by pid */
#define PYUSDT_KEEP_NAME 32   /* bytes of a kept session's name, NUL included */
#define PYUSDT_PATHS_MAX 6    /* paths to values that one session reads at probes of code */
#define PYUSDT_COUNT_ROWS \
    16 /* probes that one session counts in a process; of more it gets events */
#define PYUSDT_CTL_ANCESTORS 16         /* of a process, the nearest */
#define PYUSDT_PLACE_STRINGS (4u << 20) /* bytes of the names of all places of a process */

#endif
