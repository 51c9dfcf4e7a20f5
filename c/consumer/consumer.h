/*
 * Runs the clauses of a script on events, and keeps the records that they emit, in order.
 *
 * - Events come from a source (event_source.h), or the caller makes them (BEGIN, END, tick).
 * - If a clause ends in a fault, the clauses of the ERROR probe run on it before the next clause.
 * - A probe gets its id once and keeps it. The clauses of a firing run in the order of the source.
 * - After a record of a clause that exits, the rest of its firing's clauses do not run, and only
 *   events that the caller makes run further clauses.
 */
#ifndef PYUSDT_CONSUMER_CONSUMER_H
#define PYUSDT_CONSUMER_CONSUMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/vm.h"
#include "shared/error.h"
#include "generated/program.h"
#include "consumer/probe_registry.h"
#include "consumer/state_block.h"
#include "events/event_source.h"

struct pyusdt_consumer;
struct pyusdt_formatter;
struct pyusdt_recorder;
struct pyusdt_session;

struct pyusdt_consumer_config {
    uint32_t clauses;                /* how many */
    uint32_t uses;                   /* PYUSDT_USES_* */
    uint32_t this_offset, this_size; /* part of the state block that is zeroed before each firing */
    struct pyusdt_stack_area stack[PYUSDT_STACKS]; /* where an event's stack goes */
};

enum {
    PYUSDT_CLAUSE_EXITS = 1, /* the clause calls exit() */
    PYUSDT_CLAUSE_PAUSES =
        2, /* after a record of it a poll returns, so that the caller sees it before the next event */
};

int pyusdt_consumer_new(struct pyusdt_vm *vm, const struct pyusdt_consumer_config *config,
                        struct pyusdt_consumer **out, struct pyusdt_error *err);
void pyusdt_consumer_free(struct pyusdt_consumer *c);

/* Clause `index` runs `program` of the vm.  Before any probe is added. */
int pyusdt_consumer_set_clause(struct pyusdt_consumer *c, uint32_t index, int program,
                               uint32_t flags);
/* The probes known so far; probes that are not a target's (BEGIN, tick-1s) are added to it by the caller. */
struct pyusdt_registry *pyusdt_consumer_registry(struct pyusdt_consumer *c);
/* Make all probes of the feed's targets known, in the order of their tables; targets that are known
 * already cost nothing. */
int pyusdt_consumer_add_targets(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed);

/* The stack of the events that are made here from now on: as many of these frames as there is room for. */
void pyusdt_consumer_set_stack(struct pyusdt_consumer *c, const uint64_t *frames, uint32_t n);

/* Events whose stack had more frames than were wanted. */
uint64_t pyusdt_consumer_truncated_stacks(const struct pyusdt_consumer *c);

/* Run the clauses of probe `id` on an event that is made here. */
void pyusdt_consumer_fire(struct pyusdt_consumer *c, uint32_t id,
                          const struct pyusdt_process *process, const struct pyusdt_event *event);
/* Take events from the feed, in time order, none later than `until` (ns, CLOCK_MONOTONIC), at most
 * `max`, and run their clauses.  Returns how many events were taken, or -errno. */
int pyusdt_consumer_poll(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed,
                         uint64_t until, int max);

/* Clause `index` can be counted: `program` does for arg0 firings at once what the clause's own does for each. */
int pyusdt_consumer_set_counting(struct pyusdt_consumer *c, uint32_t index, int program);
/* Take what the feed's targets have counted by themselves, and run the clauses on it. Not after exit(). */
void pyusdt_consumer_run_counts(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed);

/* --- several consumers (parallel_consumers.h): their clauses do the same in any of them, and emit only faults --- */

typedef int pyusdt_consumer_poll_fn(void *of, struct pyusdt_session *session, uint64_t until,
                                    int max);

/* Use the ids and the registry of `first`, which outlives it and has described the clauses. */
void pyusdt_consumer_share_ids(struct pyusdt_consumer *c, struct pyusdt_consumer *first);
/* From now on polls of a session are done by this function; NULL: its own again. */
void pyusdt_consumer_set_poll(struct pyusdt_consumer *c, pyusdt_consumer_poll_fn *poll, void *of);

struct pyusdt_share_part {
    uint32_t share;
    uint64_t until;
    int max;
    bool concurrent; /* other consumers run meanwhile */
};
/* Run the clauses on a part of a session's events; how many there were. */
int pyusdt_consumer_deliver_share(struct pyusdt_consumer *c, struct pyusdt_session *session,
                                  const struct pyusdt_share_part *part);
/* The records of one that follows go to its first. */
void pyusdt_consumer_move_records(struct pyusdt_consumer *c);

/* Every event that a poll takes goes to the recorder, too (NULL: no longer); a poll fails when that cannot write. */
void pyusdt_consumer_set_recorder(struct pyusdt_consumer *c, struct pyusdt_recorder *recorder);
/* Wall-clock time is the events' and this, not today's difference of the clocks. */
void pyusdt_consumer_set_wall(struct pyusdt_consumer *c, uint64_t offset);

/* From now on the formatter, which outlives this, prints what it can as it is made (record_buffer.h). */
void pyusdt_consumer_set_formatter(struct pyusdt_consumer *c, struct pyusdt_formatter *formatter);
/* The records since the last clear; `*size` bytes. */
const uint8_t *pyusdt_consumer_records(struct pyusdt_consumer *c, size_t *size);
void pyusdt_consumer_clear(struct pyusdt_consumer *c);

bool pyusdt_consumer_is_exiting(const struct pyusdt_consumer *c);  /* a clause called exit() */
uint64_t pyusdt_consumer_dropped(const struct pyusdt_consumer *c); /* records that found no room */
/* Programs that the interpreter stopped: always 0 unless the compiler has a bug.  `*what` says which. */
uint64_t pyusdt_consumer_faults(const struct pyusdt_consumer *c, struct pyusdt_error *what);

#endif
