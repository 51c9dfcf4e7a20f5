/* The event part of the state block, as program.py lays it out: what the engine fills before it runs
 * the clauses of a firing.  The asserts hold the two to each other. */
#ifndef PYUSDT_CONSUMER_STATE_BLOCK_H
#define PYUSDT_CONSUMER_STATE_BLOCK_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "consumer/probe_registry.h"
#include "generated/program.h"

enum { /* parts of the state block that cost something and are filled only where a clause reads them */
       PYUSDT_USES_EXECNAME = 1,
       PYUSDT_USES_NAMES = 2,
       PYUSDT_USES_WALL = 4,
       PYUSDT_USES_PPID = 8,
       PYUSDT_USES_ANCESTORS = 16,
};

enum { PYUSDT_STACKS = 2 }; /* ustack()'s, and jstack()'s */

/* Where an event's stack goes, in the state block. */
struct pyusdt_stack_area {
    uint32_t offset,
        frames;        /* in the state block: their number, u64, then as many u64; offset 0: none */
    uint32_t language; /* 1: without the native frames */
};

/* Who fired: what an event does not carry itself. */
struct pyusdt_process {
    uint32_t pid, ppid, uid, gid; /* ppid: 0 where it is not known */
    uint32_t host;                /* as struct pyusdt_target_info has it */
    char comm[16];                /* NUL padded */
    uint32_t ancestors
        [PYUSDT_ANCESTORS]; /* its parent, that one's, and so on; zeros behind them, or where not asked for */
};

struct pyusdt_state {
    uint64_t time;
    uint32_t probe, cpu, pid, tid, uid, gid;
    uint64_t wall;
    char execname[16], probeprov[64], probemod[64], probefunc[128], probename[64];
    uint64_t arg[12];
    uint64_t
        ppid; /* the upper half, the error of a system call, of which none returns here, is the number of the host (merged_replay.h) */
    uint32_t ancestors[PYUSDT_ANCESTORS];
};

#define PYUSDT_AT(field, offset) \
    static_assert(offsetof(struct pyusdt_state, field) == (offset), #field)
PYUSDT_AT(time, PYUSDT_STATE_TIME);
PYUSDT_AT(probe, PYUSDT_STATE_PROBE);
PYUSDT_AT(cpu, PYUSDT_STATE_CPU);
PYUSDT_AT(pid, PYUSDT_STATE_PID);
PYUSDT_AT(tid, PYUSDT_STATE_TID);
PYUSDT_AT(uid, PYUSDT_STATE_UID);
PYUSDT_AT(gid, PYUSDT_STATE_GID);
PYUSDT_AT(wall, PYUSDT_STATE_WALL);
PYUSDT_AT(execname, PYUSDT_STATE_EXECNAME);
PYUSDT_AT(probeprov, PYUSDT_STATE_PROBEPROV);
PYUSDT_AT(probemod, PYUSDT_STATE_PROBEMOD);
PYUSDT_AT(probefunc, PYUSDT_STATE_PROBEFUNC);
PYUSDT_AT(probename, PYUSDT_STATE_PROBENAME);
PYUSDT_AT(arg, PYUSDT_STATE_ARGS);
PYUSDT_AT(ppid, PYUSDT_STATE_PPID);
PYUSDT_AT(ancestors, PYUSDT_STATE_ANCESTORS);
static_assert(sizeof(struct pyusdt_state) == PYUSDT_STATE_EVENT_END, "state block");
#undef PYUSDT_AT

/* What all events of probe `id` of a process have in common; uses: PYUSDT_USES_*, what is filled beside pid, uid and gid. */
void pyusdt_state_fill_process(struct pyusdt_state *state, uint32_t uses, uint32_t id,
                               const struct pyusdt_process *process,
                               const struct pyusdt_registry *registry);

/* The number of frames, the frames, and zeros in the place of those of before. */
void pyusdt_state_fill_stack(struct pyusdt_state *state, const struct pyusdt_stack_area *area,
                             const uint64_t *frames, uint32_t count);

/* As it is now; 0 where it cannot be read, as of a process that has ended. */
uint32_t pyusdt_find_parent(uint32_t pid);

/* Find a process's ancestors, as they are now; zeros where they cannot be read. */
void pyusdt_find_ancestors(struct pyusdt_process *process);

#endif
