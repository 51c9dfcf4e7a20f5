/* See consumer.h. */
#define _GNU_SOURCE
#include "consumer/consumer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "generated/program.h"
#include "recording/recording_writer.h"
#include "session/ring_merge.h"
#include "session/session_source.h"
#include "shared/os.h"
#include "consumer/captured_memory.h"
#include "consumer/probe_ids.h"
#include "consumer/record_buffer.h"
#include "consumer/state_block.h"
#include "consumer/pending_counts.h"

enum {
    PYUSDT_PROBE_ERROR = 3
}; /* its id, as in dtrace: the caller adds BEGIN, END and ERROR first */
enum {
    RECORDS_PAUSE = 512 << 10
}; /* past this a poll stops early, so that the caller can print what a processor's cache still has */

struct clause {
    int program;
    uint32_t flags;
    bool reads;   /* the state block */
    int counting; /* the program that does the same for many firings at once; -1: there is none */
};

/* Of the last event's probe: what all its events have in common, so that the next one finds it. */
struct current {
    uint32_t target, probe,
        place; /* of the feed; NOBODY: of none, or the state block's constant part is another's by now */
    uint32_t id; /* 0: there was no memory for it */
    uint32_t n;
    const uint32_t *clauses;
    bool reads; /* one of the clauses reads the state block */
    bool
        counts; /* all of them have a program for many firings: events are counted, and run_pending() runs it */
    uint32_t waiting; /* events that were counted since */
};
#define NO_TARGET UINT32_MAX

struct pyusdt_consumer {
    struct pyusdt_vm *vm;
    struct pyusdt_vm_env env;
    struct pyusdt_registry *registry;
    struct pyusdt_consumer_config config;
    struct clause *clauses;
    struct pyusdt_ids own; /* where it has no first consumer */
    struct pyusdt_ids *ids;
    struct pyusdt_consumer *first; /* whose registry and ids are used; NULL: its own */
    pyusdt_consumer_poll_fn *poll; /* of the consumers that it is the first of; NULL: it is alone */
    void *poll_of;
    bool concurrent;                  /* other consumers of its crew run now, too */
    struct pyusdt_event_source feed;  /* the one that is being polled */
    struct pyusdt_recorder *recorder; /* of what it delivers, or NULL */
    struct pyusdt_state *state;       /* followed by the program's part */
    struct current current;
    struct pyusdt_pending_counts pending; /* of probes that were met before it */
    const struct pyusdt_event *event;     /* the one that is being run */
    struct pyusdt_record_buffer output;
    uint32_t running; /* index of the clause that is being run */
    uint64_t wall;    /* realtime minus monotonic clock, ns */
    bool wall_is_set; /* by the caller: not today's */
    bool exiting;
    bool pausing; /* a record of PYUSDT_CLAUSE_PAUSES is among those since the last clear */
    bool failed;  /* the clause that is being run emitted a fault: `fault` */
    uint8_t fault[PYUSDT_FAULT_RECORD_SIZE];
    uint64_t frame[PYUSDT_MAX_FRAMES]; /* of the event that is being run, as the clauses see them */
    uint32_t nframes;
    uint64_t cut;
    uint64_t lost, stopped;
    struct pyusdt_error stopped_why;
};

/* --- what the programs see of the outside ---------------------------------------------------------- */

static int read_captured(void *arg, uint64_t address, void *to, uint32_t size, int how)
{
    return pyusdt_read_captured_memory(((const struct pyusdt_consumer *)arg)->event, address, to,
                                       size, how);
}

/* What a record means to the running of the clauses. */
static void note_record(struct pyusdt_consumer *c, const uint8_t *record, uint32_t size)
{
    uint32_t clause, flags = c->clauses[c->running].flags;

    memcpy(&clause, record + PYUSDT_RECORD_CLAUSE, sizeof clause);
    if (clause & PYUSDT_RECORD_FAULT && size == sizeof c->fault) {
        memcpy(c->fault, record, size);
        c->failed = true;
    } else if (!(clause & PYUSDT_RECORD_FLAGS)) {
        c->exiting |= flags & PYUSDT_CLAUSE_EXITS;
        c->pausing |= flags & PYUSDT_CLAUSE_PAUSES;
    }
}

static int add_record(void *arg, const void *record, uint32_t size)
{
    struct pyusdt_consumer *c = arg;
    int code = pyusdt_record_buffer_add(&c->output, record, size);
    if (code == 0)
        note_record(c, record, size);
    else
        c->lost++;
    return code;
}

static uint64_t event_time(void *arg)
{
    return ((const struct pyusdt_consumer *)arg)->event->time;
}

/* --- stacks ------------------------------------------------------------------------------------------ */

/* A frame of a process as the clauses see it: docs/internals/program.md, "Stacks". */
static uint64_t frame_word(uint32_t target, uint64_t frame)
{
    uint64_t place = frame >> 32,
             line = frame & ~(PYUSDT_FRAME_CODE | PYUSDT_FRAME_ENTRY) & UINT32_MAX,
             mark = PYUSDT_FRAME_MARK;

    if (target >= PYUSDT_FRAME_TARGETS)
        target = place = 0; /* else it would be a frame of another process */
    place = place <= PYUSDT_MAX_PLACES ? place : 0;
    line = line < 1u << PYUSDT_FRAME_PLACE_SHIFT ? line : 0;
    if (frame & PYUSDT_FRAME_CODE)
        mark = PYUSDT_FRAME_MARK_CODE;
    else if (frame & PYUSDT_FRAME_ENTRY)
        mark = PYUSDT_FRAME_MARK_FIRST;
    return mark << PYUSDT_FRAME_MARK_SHIFT | (uint64_t)target << PYUSDT_FRAME_TARGET_SHIFT |
           place << PYUSDT_FRAME_PLACE_SHIFT | line;
}

static void copy_stack(struct pyusdt_consumer *c, const struct pyusdt_event *e)
{
    uint64_t frame;
    uint32_t target = e->nframes > 0 && c->feed.kind->named
                          ? c->feed.kind->named(c->feed.of, e->target)
                          : e->target;

    c->nframes = e->nframes; /* 0 if no clause wants a stack: targets capture none then */
    for (uint32_t i = 0; i < c->nframes; i++) {
        memcpy(&frame, e->frames + 8 * i, sizeof frame);
        c->frame[i] = frame_word(target, frame);
    }
    c->cut += e->more;
}

static bool is_native(uint64_t word)
{
    return word >> PYUSDT_FRAME_MARK_SHIFT == PYUSDT_FRAME_MARK_CODE;
}

/* Of native frames and a language's half at least are for those of the language; the two innermost native ones stay always, as in
 * the kernel engine. Where native ones are not wanted, frames of one code location are one word, whatever called the interpreter for them. */
static void fill_stack(struct pyusdt_consumer *c, const struct pyusdt_stack_area *area)
{
    uint64_t frame[PYUSDT_MAX_FRAMES];
    uint32_t natives = 0, kept, others, n = 0;

    while (natives < c->nframes && is_native(c->frame[natives]))
        natives++;
    others = c->nframes - natives;
    if (natives == 0 && !area->language) {
        pyusdt_state_fill_stack(c->state, area, c->frame, c->nframes);
        return;
    }
    kept = area->language ? 0 : natives;
    if (kept + others > area->frames && others > 0) {
        uint32_t half = area->frames / 2 > 2 ? area->frames / 2 : 2,
                 free = others < area->frames ? area->frames - others : 0;
        uint32_t most = free > half ? free : half;
        kept = kept < most ? kept : most;
    }
    for (uint32_t i = 0; i < kept; i++)
        frame[n++] = c->frame[i];
    for (uint32_t i = natives; i < c->nframes; i++) {
        uint64_t word = c->frame[i];
        if (is_native(word))
            continue;
        if (area->language && word >> PYUSDT_FRAME_MARK_SHIFT == PYUSDT_FRAME_MARK_FIRST)
            word ^= (uint64_t)(PYUSDT_FRAME_MARK ^ PYUSDT_FRAME_MARK_FIRST)
                    << PYUSDT_FRAME_MARK_SHIFT;
        frame[n++] = word;
    }
    pyusdt_state_fill_stack(c->state, area, frame, n);
}

void pyusdt_consumer_set_stack(struct pyusdt_consumer *c, const uint64_t *frames, uint32_t n)
{
    c->nframes = n < PYUSDT_MAX_FRAMES ? n : PYUSDT_MAX_FRAMES;
    memcpy(c->frame, frames, c->nframes * sizeof *frames);
}

/* --- running ----------------------------------------------------------------------------------------- */

static void fill_event(struct pyusdt_consumer *c, const struct pyusdt_event *e)
{
    struct pyusdt_state *s = c->state;
    s->time = e->time;
    s->cpu = e->cpu;
    s->tid = e->tid;
    memcpy(s->arg, e->arg, sizeof s->arg); /* those that it does not have are 0 */
    if (c->config.uses & PYUSDT_USES_WALL)
        s->wall = e->time + c->wall;
    for (int i = 0; i < PYUSDT_STACKS; i++)
        if (c->config.stack[i].offset)
            fill_stack(c, &c->config.stack[i]);
    if (c->config.this_size)
        memset((uint8_t *)s + c->config.this_offset, 0, c->config.this_size);
}

static void note_stopped(struct pyusdt_consumer *c, int code)
{
    if (c->stopped++ == 0)
        pyusdt_error_set(&c->stopped_why, code, "clause %u: %s at instruction %u, address 0x%llx",
                         c->running, code == -ELOOP ? "too many steps" : "invalid access",
                         c->env.fault_pc, (unsigned long long)c->env.fault_addr);
}

static void run_program(struct pyusdt_consumer *c, uint32_t clause, int program)
{
    uint64_t r0;

    c->running = clause;
    c->failed = false;
    int code = pyusdt_vm_run(c->vm, program, &c->env, &r0);
    if (code)
        note_stopped(c, code);
}

static void run_clause(struct pyusdt_consumer *c, uint32_t clause)
{
    run_program(c, clause, c->clauses[clause].program);
}

/* The ERROR probe, with the arguments that dtrace gives it: the probe, the clause, the place in its code, the kind
 * of fault, the address.  A fault in ERROR itself fires nothing. */
static void fire_error(struct pyusdt_consumer *c, uint32_t id, const struct pyusdt_process *process,
                       const struct pyusdt_event *event)
{
    uint32_t n, kind, pc, clause;
    uint64_t value;
    const uint32_t *clauses = pyusdt_registry_clauses(c->registry, PYUSDT_PROBE_ERROR, &n);
    if (n == 0)
        return;
    memcpy(&clause, c->fault + PYUSDT_RECORD_CLAUSE, sizeof clause);
    memcpy(&kind, c->fault + PYUSDT_FAULT_KIND, sizeof kind);
    memcpy(&pc, c->fault + PYUSDT_FAULT_PC, sizeof pc);
    memcpy(&value, c->fault + PYUSDT_FAULT_VALUE, sizeof value);
    struct pyusdt_event error = {.time = event->time,
                                 .tid = event->tid,
                                 .cpu = event->cpu,
                                 .args = 0x3f,
                                 .arg = {0, id, clause & ~PYUSDT_RECORD_FLAGS, pc, kind, value}};
    size_t size = c->config.this_offset + c->config.this_size;
    uint8_t *saved = malloc(size);
    if (!saved) {
        c->lost++;
        return;
    }
    memcpy(saved, c->state, size);
    c->event = &error;
    pyusdt_state_fill_process(c->state, c->config.uses, PYUSDT_PROBE_ERROR, process, c->registry);
    fill_event(c, &error);
    for (uint32_t i = 0; i < n; i++)
        run_clause(c, clauses[i]);
    c->event = event;
    memcpy(c->state, saved, size);
    free(saved);
}

/* Whether one of the clauses reads the state block. */
static bool any_reads_state(const struct pyusdt_consumer *c, const uint32_t *clauses, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (c->clauses[clauses[i]].reads)
            return true;
    return false;
}

/* As in dtrace walltimestamp goes on from clause to clause, by what they take here; 0 if no clause would see it, and if
 * the wall clock is not today's: what is replayed gives the same again and again. */
static uint64_t wall_start(const struct pyusdt_consumer *c, const struct current *current)
{
    return current->n > 1 && c->config.uses & PYUSDT_USES_WALL && !c->wall_is_set ? pyusdt_now()
                                                                                  : 0;
}

/* The clauses of an event of the probe that was met: the state block is filled but for the event. */
static void run_clauses(struct pyusdt_consumer *c, const struct current *current,
                        const struct pyusdt_process *process, const struct pyusdt_event *event)
{
    bool exiting = c->exiting; /* END runs after exit(), too */
    uint64_t begun = wall_start(c, current);
    c->event = event;
    if (current->reads)
        fill_event(c, event);
    c->exiting = false;
    for (uint32_t i = 0; i < current->n && !c->exiting; i++) {
        if (i > 0 && begun)
            c->state->wall = event->time + c->wall + (pyusdt_now() - begun);
        run_clause(c, current->clauses[i]);
        if (c->failed)
            fire_error(c, current->id, process, event);
    }
    c->exiting |= exiting;
}

/* All of the probe's clauses have a program that does the same for many firings at once. */
static bool all_count(const struct pyusdt_consumer *c, const uint32_t *clauses, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (c->clauses[clauses[i]].counting < 0)
            return false;
    return true;
}

static void set_current(struct pyusdt_consumer *c, struct current *current, uint32_t id,
                        const struct pyusdt_process *process)
{
    current->id = id;
    current->clauses = pyusdt_registry_clauses(c->registry, id, &current->n);
    current->reads = any_reads_state(c, current->clauses, current->n);
    current->counts = current->n > 0 && all_count(c, current->clauses, current->n);
    if (current->reads || current->counts)
        pyusdt_state_fill_process(c->state, c->config.uses, id, process, c->registry);
}

void pyusdt_consumer_fire(struct pyusdt_consumer *c, uint32_t id,
                          const struct pyusdt_process *process, const struct pyusdt_event *event)
{
    struct current current;
    c->current.target = NO_TARGET; /* the state block is about this probe now */
    set_current(c, &current, id, process);
    run_clauses(c, &current, process, event);
}

/* Runs the clauses of a probe for so many events that were only counted; the state block is about that probe. */
static void run_counting(struct pyusdt_consumer *c, uint32_t id, uint32_t events)
{
    uint32_t n;
    const uint32_t *clauses = pyusdt_registry_clauses(c->registry, id, &n);

    c->state->arg[0] = events;
    for (uint32_t i = 0; i < n; i++)
        run_program(c, clauses[i], c->clauses[clauses[i]].counting);
}

static void run_pending_count(struct pyusdt_consumer *c, const struct pyusdt_pending_count *it)
{
    c->current.target = NO_TARGET; /* the state block is about this probe now */
    pyusdt_state_fill_process(c->state, c->config.uses, it->id, &c->ids->process[it->target],
                              c->registry);
    run_counting(c, it->id, it->events);
}

/* Before the maps are read: runs the clauses for all events that were only counted. */
static void run_pending(struct pyusdt_consumer *c)
{
    struct pyusdt_pending_count it;

    if (c->current.waiting != 0)
        run_counting(c, c->current.id, c->current.waiting);
    c->current.waiting = 0;
    while (pyusdt_pending_take(&c->pending, &it))
        run_pending_count(c, &it);
}

/* The counted events of the current probe wait: it may have more before the maps are read. */
static void defer_counts(struct pyusdt_consumer *c)
{
    if (c->current.waiting == 0)
        return;
    struct pyusdt_pending_count it = {c->current.target, c->current.probe, c->current.place,
                                      c->current.id, c->current.waiting};
    c->current.waiting = 0;
    it = pyusdt_pending_put(&c->pending, it);
    if (it.events != 0)
        run_pending_count(c, &it);
}

/* An event of another probe than the last one's. */
static void switch_current(struct pyusdt_consumer *c, const struct pyusdt_event *e)
{
    defer_counts(c);
    uint32_t id = pyusdt_ids_find_or_add(c->ids, &c->feed, e->target, e->probe, e->place);
    c->current = (struct current){
        .target = id ? e->target : NO_TARGET, .probe = e->probe, .place = e->place};
    if (id != 0)
        set_current(c, &c->current, id, &c->ids->process[e->target]);
}

static int on_event(void *arg, const struct pyusdt_event *e)
{
    struct pyusdt_consumer *c = arg;
    if (c->recorder)
        pyusdt_recorder_event(c->recorder, e);
    if (e->target != c->current.target || e->probe != c->current.probe ||
        e->place != c->current.place) {
        if (pyusdt_pending_add_one(&c->pending, e->target, e->probe, e->place))
            return 0;
        if (c->concurrent && !pyusdt_ids_has(c->ids, e->target, e->probe, e->place))
            return PYUSDT_EVENT_DEFERRED;
        switch_current(c, e);
    }
    if (c->current.counts) {
        c->current.waiting++; /* none of its clauses reads a stack */
    } else if (c->current.n) {
        copy_stack(c, e);
        run_clauses(c, &c->current, &c->ids->process[e->target], e);
    }
    c->lost += c->current.id == 0;
    return c->exiting || c->pausing || c->output.made.size > RECORDS_PAUSE;
}

/* ---- what was counted by the targets ---- */

static int on_count(void *arg, const struct pyusdt_event *e)
{
    struct pyusdt_consumer *c = arg;
    uint32_t id = pyusdt_ids_find_or_add(c->ids, &c->feed, e->target, e->probe, e->place), n;
    c->current.target =
        NO_TARGET; /* the state block is about this probe now, and clauses may have moved */
    if (id == 0) {
        c->lost += e->arg[0];
        return 0;
    }
    const uint32_t *clauses = pyusdt_registry_clauses(c->registry, id, &n);
    if (!all_count(c, clauses, n))
        return 0; /* this session does not count them in the target */
    c->event = e;
    pyusdt_state_fill_process(c->state, c->config.uses, id, &c->ids->process[e->target],
                              c->registry);
    fill_event(c, e);
    for (uint32_t i = 0; i < n; i++)
        run_program(c, clauses[i], c->clauses[clauses[i]].counting);
    return 0;
}

void pyusdt_consumer_run_counts(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed)
{
    c->feed = *feed;
    if (feed->kind->counts && !c->exiting)
        feed->kind->counts(feed->of, on_count, c);
}

static uint64_t wall_offset(void)
{
    struct timespec real, mono;
    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_REALTIME, &real);
    return (uint64_t)(real.tv_sec - mono.tv_sec) * 1000000000u +
           (uint64_t)(real.tv_nsec - mono.tv_nsec);
}

static void begin_poll(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed)
{
    if (c->config.uses & PYUSDT_USES_WALL && !c->wall_is_set)
        c->wall = wall_offset();
    c->feed = *feed;
}

int pyusdt_consumer_poll(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed,
                         uint64_t until, int max)
{
    begin_poll(c, feed);
    int n = c->poll ? c->poll(c->poll_of, feed->of, until, max)
                    : feed->kind->poll(feed->of, until, max, on_event, c);
    run_pending(c);
    int failed = c->recorder ? pyusdt_recorder_flush(c->recorder) : 0;
    return failed ? failed : n;
}

/* --- several consumers of one session -------------------------------------------------------------------- */

void pyusdt_consumer_share_ids(struct pyusdt_consumer *c, struct pyusdt_consumer *first)
{
    pyusdt_registry_free(c->registry);
    c->registry = first->registry;
    c->ids = first->ids;
    c->first = first;
}

void pyusdt_consumer_set_poll(struct pyusdt_consumer *c, pyusdt_consumer_poll_fn *poll, void *of)
{
    c->poll = poll;
    c->poll_of = of;
}

int pyusdt_consumer_deliver_share(struct pyusdt_consumer *c, struct pyusdt_session *session,
                                  const struct pyusdt_share_part *part)
{
    const struct pyusdt_event_source feed = {&pyusdt_session_source_ops, session};
    bool stop = false;

    begin_poll(c, &feed);
    c->concurrent = part->concurrent;
    c->current.target = NO_TARGET; /* another consumer's event may have moved the clauses */
    int n =
        pyusdt_session_deliver(session, part->share, part->until, part->max, on_event, c, &stop);
    run_pending(c);
    return n;
}

void pyusdt_consumer_move_records(struct pyusdt_consumer *c)
{
    size_t size;
    const uint8_t *records = pyusdt_record_buffer_records(&c->output, &size);

    for (size_t at = 0; at + sizeof c->fault <= size; at += sizeof c->fault)
        add_record(c->first, records + at, sizeof c->fault);
    pyusdt_consumer_clear(c);
}

void pyusdt_consumer_set_recorder(struct pyusdt_consumer *c, struct pyusdt_recorder *recorder)
{
    c->recorder = recorder;
}

void pyusdt_consumer_set_wall(struct pyusdt_consumer *c, uint64_t offset)
{
    c->wall = offset;
    c->wall_is_set = true;
}

int pyusdt_consumer_add_targets(struct pyusdt_consumer *c, const struct pyusdt_event_source *feed)
{
    c->current.target = NO_TARGET; /* clauses and processes may move */
    return pyusdt_ids_add_targets(c->ids, feed);
}

/* --- making and reading it ------------------------------------------------------------------------------ */

int pyusdt_consumer_new(struct pyusdt_vm *vm, const struct pyusdt_consumer_config *config,
                        struct pyusdt_consumer **out, struct pyusdt_error *err)
{
    struct pyusdt_consumer *c = calloc(1, sizeof *c);
    if (!c || !(c->registry = pyusdt_registry_new()) ||
        !(c->clauses = calloc(config->clauses + 1, sizeof *c->clauses))) {
        pyusdt_consumer_free(c);
        return pyusdt_error_set(err, -ENOMEM, "no memory for the consumer");
    }
    c->vm = vm;
    c->config = *config;
    c->own = (struct pyusdt_ids){.registry = c->registry, .uses = config->uses};
    c->ids = &c->own;
    c->current.target = NO_TARGET;
    c->state = pyusdt_vm_map_value(vm, PYUSDT_MAP_STATE, 0);
    c->wall = wall_offset();
    c->env = (struct pyusdt_vm_env){
        .read_user = read_captured, .output = add_record, .time = event_time, .arg = c};
    *out = c;
    return 0;
}

void pyusdt_consumer_free(struct pyusdt_consumer *c)
{
    if (!c)
        return;
    if (!c->first)
        pyusdt_registry_free(c->registry);
    free(c->clauses);
    pyusdt_ids_free(&c->own);
    pyusdt_record_buffer_free(&c->output);
    free(c);
}

int pyusdt_consumer_set_clause(struct pyusdt_consumer *c, uint32_t index, int program,
                               uint32_t flags)
{
    if (index >= c->config.clauses)
        return -EINVAL;
    c->clauses[index] = (struct clause){program, flags, pyusdt_vm_reads_state(c->vm, program), -1};
    return 0;
}

int pyusdt_consumer_set_counting(struct pyusdt_consumer *c, uint32_t index, int program)
{
    if (index >= c->config.clauses)
        return -EINVAL;
    c->clauses[index].counting = program;
    return 0;
}

struct pyusdt_registry *pyusdt_consumer_registry(struct pyusdt_consumer *c)
{
    c->current.target = NO_TARGET; /* a probe that is added moves the lists of clauses */
    return c->registry;
}

void pyusdt_consumer_set_formatter(struct pyusdt_consumer *c, struct pyusdt_formatter *formatter)
{
    c->output.formatter = formatter;
}

const uint8_t *pyusdt_consumer_records(struct pyusdt_consumer *c, size_t *size)
{
    return pyusdt_record_buffer_records(&c->output, size);
}

void pyusdt_consumer_clear(struct pyusdt_consumer *c)
{
    pyusdt_record_buffer_clear(&c->output);
    c->pausing = false;
}

bool pyusdt_consumer_is_exiting(const struct pyusdt_consumer *c)
{
    return c->exiting;
}

uint64_t pyusdt_consumer_dropped(const struct pyusdt_consumer *c)
{
    return c->lost;
}

uint64_t pyusdt_consumer_truncated_stacks(const struct pyusdt_consumer *c)
{
    return c->cut;
}

uint64_t pyusdt_consumer_faults(const struct pyusdt_consumer *c, struct pyusdt_error *what)
{
    *what = c->stopped_why;
    return c->stopped;
}
