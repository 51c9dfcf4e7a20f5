/* See consumer.h. */
#include "consumer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "state.h"

enum { RECORDS_BOUND = 64 << 20 }; /* bytes of records between two clears; more are lost and counted */
enum { RECORDS_PAUSE = 4 << 20 };  /* past this a poll stops early, so that the caller can print */

struct clause {
    int program;
    uint32_t flags;
};

struct pyusdt_consumer {
    struct pyusdt_vm *vm;
    struct pyusdt_vm_env env;
    struct pyusdt_registry *registry;
    struct pyusdt_consumer_config config;
    struct clause *clauses;
    uint32_t *targets; /* by target index: the id before its first probe */
    struct pyusdt_process *who;
    uint32_t ntargets;
    struct pyusdt_session *session; /* the one that is being polled */
    uint8_t *state;
    const struct pyusdt_event *event; /* the one that is being run */
    uint8_t *records;
    size_t size, room;
    uint32_t running; /* index of the clause that is being run */
    uint64_t wall;    /* realtime minus monotonic clock, ns */
    bool exiting;
    uint64_t lost, stopped;
    struct pyusdt_error stopped_why;
};

/* --- what the programs see of the outside ---------------------------------------------------------- */

/* A read inside what was captured of the event; all else is a bad address. */
static int read_captured(void *arg, uint64_t address, void *to, uint32_t size, int string)
{
    const struct pyusdt_consumer *c = arg;
    const struct pyusdt_event *e = c->event;
    for (unsigned i = 0; i < e->ncaptures; i++) {
        uint64_t offset = address - e->capture[i].address;
        if (address < e->capture[i].address || offset > e->capture[i].length)
            continue;
        uint32_t rest = e->capture[i].length - (uint32_t)offset; /* bytes before the NUL */
        const char *from = e->capture[i].data + offset;
        if (!string) {
            if (size > rest + 1)
                return -EFAULT;
            memcpy(to, from, size < rest ? size : rest);
            if (size > rest)
                ((char *)to)[rest] = 0;
            return (int)size;
        }
        if (size == 0)
            return 0;
        const char *end = memchr(from, 0, rest);
        uint32_t n = end ? (uint32_t)(end - from) : rest;
        n = n < size - 1 ? n : size - 1;
        memcpy(to, from, n);
        ((char *)to)[n] = 0;
        return (int)n + 1;
    }
    return -EFAULT;
}

static int add_record(void *arg, const void *record, uint32_t size)
{
    struct pyusdt_consumer *c = arg;
    if (c->size + size > c->room) {
        size_t room = c->room ? c->room * 2 : 1 << 20;
        while (room < c->size + size)
            room *= 2;
        uint8_t *larger = room <= RECORDS_BOUND ? realloc(c->records, room) : NULL;
        if (!larger) {
            c->lost++;
            return -EAGAIN;
        }
        c->records = larger;
        c->room = room;
    }
    memcpy(c->records + c->size, record, size);
    c->size += size;
    if (c->clauses[c->running].flags & PYUSDT_CLAUSE_EXITS)
        c->exiting = true;
    return 0;
}

static uint64_t event_time(void *arg)
{
    return ((const struct pyusdt_consumer *)arg)->event->time;
}

/* --- running ----------------------------------------------------------------------------------------- */

/* Cut where it is too long, and padded with NULs, as D's strings must be. */
static void put_name(char *to, size_t size, const char *name)
{
    size_t n = strnlen(name, size - 1);
    memcpy(to, name, n);
    memset(to + n, 0, size - n);
}

static void fill_state(struct pyusdt_consumer *c, uint32_t id, const struct pyusdt_process *who,
                       const struct pyusdt_event *e)
{
    struct pyusdt_state *s = (struct pyusdt_state *)c->state;
    s->time = e->time;
    s->probe = id;
    s->cpu = e->cpu;
    s->pid = who->pid;
    s->tid = e->tid;
    s->uid = who->uid;
    s->gid = who->gid;
    memcpy(s->arg, e->arg, e->nargs * sizeof s->arg[0]);
    memset(s->arg + e->nargs, 0, (PYUSDT_MAX_ARGS - e->nargs) * sizeof s->arg[0]);
    if (c->config.uses & PYUSDT_USES_WALL)
        s->wall = e->time + c->wall;
    if (c->config.uses & PYUSDT_USES_EXECNAME)
        memcpy(s->execname, who->comm, sizeof s->execname);
    if (c->config.uses & PYUSDT_USES_NAMES) {
        struct pyusdt_probe_names names;
        if (pyusdt_registry_names(c->registry, id, &names)) {
            put_name(s->probeprov, sizeof s->probeprov, names.provider);
            put_name(s->probemod, sizeof s->probemod, names.module);
            put_name(s->probefunc, sizeof s->probefunc, names.function);
            put_name(s->probename, sizeof s->probename, names.name);
        }
    }
    if (c->config.this_size)
        memset(c->state + c->config.this_offset, 0, c->config.this_size);
}

static void note_stopped(struct pyusdt_consumer *c, int code)
{
    if (c->stopped++ == 0)
        pyusdt_error_set(&c->stopped_why, code, "clause %u: %s at instruction %u, address 0x%llx", c->running,
                         code == -ELOOP ? "too many steps" : "invalid access", c->env.fault_pc,
                         (unsigned long long)c->env.fault_addr);
}

void pyusdt_consumer_fire(struct pyusdt_consumer *c, uint32_t id, const struct pyusdt_process *who,
                          const struct pyusdt_event *event)
{
    uint32_t n;
    const uint32_t *clauses = pyusdt_registry_clauses(c->registry, id, &n);
    if (n == 0)
        return;
    bool exiting = c->exiting; /* END runs after exit(), too */
    c->exiting = false;
    c->event = event;
    fill_state(c, id, who, event);
    for (uint32_t i = 0; i < n && !c->exiting; i++) {
        uint64_t r0;
        c->running = clauses[i];
        int code = pyusdt_vm_run(c->vm, c->clauses[c->running].program, &c->env, &r0);
        if (code)
            note_stopped(c, code);
    }
    c->exiting |= exiting;
}

static int on_event(void *arg, const struct pyusdt_event *e)
{
    struct pyusdt_consumer *c = arg;
    if (e->target < c->ntargets || pyusdt_consumer_add_targets(c, c->session) == 0)
        pyusdt_consumer_fire(c, c->targets[e->target] + e->probe + 1, &c->who[e->target], e);
    return c->exiting || c->size > RECORDS_PAUSE;
}

static uint64_t wall_offset(void)
{
    struct timespec real, mono;
    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_REALTIME, &real);
    return (uint64_t)(real.tv_sec - mono.tv_sec) * 1000000000u + (uint64_t)(real.tv_nsec - mono.tv_nsec);
}

int pyusdt_consumer_poll(struct pyusdt_consumer *c, struct pyusdt_session *session, uint64_t until, int max)
{
    if (c->config.uses & PYUSDT_USES_WALL)
        c->wall = wall_offset();
    c->session = session;
    return pyusdt_session_poll(session, until, max, on_event, c);
}

/* --- targets ------------------------------------------------------------------------------------------ */

static int add_target(struct pyusdt_consumer *c, const struct pyusdt_session *session, uint32_t target)
{
    struct pyusdt_target_info info;
    int code = pyusdt_session_target(session, target, &info);
    if (code)
        return code;
    struct pyusdt_process *who = &c->who[target];
    *who = (struct pyusdt_process){.pid = info.pid, .uid = info.uid, .gid = info.gid};
    put_name(who->comm, sizeof who->comm, info.comm);
    c->targets[target] = pyusdt_registry_count(c->registry);
    for (uint32_t i = 0; i < info.nprobes; i++) {
        struct pyusdt_probe_info probe;
        code = pyusdt_session_probe(session, target, i, &probe);
        if (code)
            return code;
        struct pyusdt_probe_names names = {probe.provider, probe.module, probe.function, probe.name};
        int64_t id = pyusdt_registry_add(c->registry, &names);
        if (id < 0)
            return (int)id;
    }
    return 0;
}

int pyusdt_consumer_add_targets(struct pyusdt_consumer *c, struct pyusdt_session *session)
{
    struct pyusdt_session_stats stats;
    pyusdt_session_stats(session, &stats);
    if (stats.targets <= c->ntargets)
        return 0;
    uint32_t *targets = realloc(c->targets, stats.targets * sizeof *targets);
    if (!targets)
        return -ENOMEM;
    c->targets = targets;
    struct pyusdt_process *who = realloc(c->who, stats.targets * sizeof *who);
    if (!who)
        return -ENOMEM;
    c->who = who;
    while (c->ntargets < stats.targets) {
        int code = add_target(c, session, c->ntargets);
        if (code)
            return code;
        c->ntargets++;
    }
    return 0;
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
    pyusdt_registry_free(c->registry);
    free(c->clauses);
    free(c->targets);
    free(c->who);
    free(c->records);
    free(c);
}

int pyusdt_consumer_clause(struct pyusdt_consumer *c, uint32_t index, int program, uint32_t flags)
{
    if (index >= c->config.clauses)
        return -EINVAL;
    c->clauses[index] = (struct clause){program, flags};
    return 0;
}

struct pyusdt_registry *pyusdt_consumer_registry(struct pyusdt_consumer *c)
{
    return c->registry;
}

const uint8_t *pyusdt_consumer_records(const struct pyusdt_consumer *c, size_t *size)
{
    *size = c->size;
    return c->records;
}

void pyusdt_consumer_clear(struct pyusdt_consumer *c)
{
    c->size = 0;
}

bool pyusdt_consumer_exiting(const struct pyusdt_consumer *c)
{
    return c->exiting;
}

uint64_t pyusdt_consumer_lost(const struct pyusdt_consumer *c)
{
    return c->lost;
}

uint64_t pyusdt_consumer_stopped(const struct pyusdt_consumer *c, struct pyusdt_error *what)
{
    *what = c->stopped_why;
    return c->stopped;
}
