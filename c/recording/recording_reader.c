/*
 * Reading recordings.
 *
 * - A block is copied into private memory and checked there; a damaged block ends the recording at
 *   the block before it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/error.h"
#include "events/event_decode.h"
#include "recording/flight_reader.h"
#include "recording/recording_reader.h"
#include "shared/probe_table.h"

#define BUFFER (1u << 18)
#define BLOCK_MAX (1u << 21) /* the largest, a table */
#define TABLES_MAX 65536u
#define TARGETS_MAX 65536u
#define PROBES_MAX \
    (1u << 22) /* of all targets: each gets an id, so that a small file could fill the memory */
#define PROBES_OF_MANY \
    (1u << 16) /* the same of a recording that comes in portions, which is one of many */
#define BYTES_PER_NAME \
    256u /* bytes, about, that a consumer keeps of a probe, or of one at a code location */

/* Tables and targets are private copies; a target with several blocks has its last table. */
struct target {
    struct pyusdt_target_block block;
    struct pyusdt_probe_table table;
    struct pyusdt_places places;
};

struct pyusdt_replay {
    int fd;
    struct pyusdt_record_header header;
    const char *damage;
    uint64_t end;  /* time */
    uint64_t last; /* time of the youngest event met */
    bool over;
    struct pyusdt_drops_block loss;
    void **tables; /* each: struct pyusdt_probe_table, its descriptions and strings */
    uint32_t ntables, all_tables;
    struct target *targets; /* those that the events so far can be of */
    uint32_t ntargets, all_targets;
    uint64_t nprobes; /* of them all */
    uint64_t kept;    /* bytes, about, that stay in memory until it is closed */
    /* the block that is next */
    struct pyusdt_block block;
    uint8_t *body;
    bool waiting;
    size_t filled, at;   /* of buffer, or of stream */
    bool streams, begun; /* it comes in portions; its header has come */
    uint8_t *stream;
    size_t room;
    uint8_t buffer[BUFFER];
};

/* ---- bytes ---- */

static bool read_bytes(struct pyusdt_replay *r, void *to, size_t size)
{
    if (r->streams) {
        if (r->filled - r->at < size)
            return false;
        memcpy(to, r->stream + r->at, size);
        r->at += size;
        return true;
    }
    while (size > 0) {
        if (r->at == r->filled) {
            ssize_t n;
            do
                n = read(r->fd, r->buffer, sizeof r->buffer);
            while (n < 0 && errno == EINTR);
            if (n <= 0)
                return false;
            r->filled = (size_t)n;
            r->at = 0;
        }
        size_t n = r->filled - r->at < size ? r->filled - r->at : size;
        memcpy(to, r->buffer + r->at, n);
        r->at += n;
        to = (uint8_t *)to + n;
        size -= n;
    }
    return true;
}

static int damaged(struct pyusdt_replay *r, const char *why)
{
    r->damage = why;
    r->over = true;
    return -EBADMSG;
}

/* ---- blocks ---- */

/* Room for one more in a list whose length is a power of two when it is full. */
static int make_room(void **list, uint32_t n, size_t each)
{
    void *more;

    if ((n & (n - 1)) != 0)
        return 0;
    more = realloc(*list, (n ? 2 * (size_t)n : 1) * each);
    if (!more)
        return -ENOMEM;
    *list = more;
    return 0;
}

/* A table is kept when it is met first; when the file is read again, it is there. */
static int read_table(struct pyusdt_replay *r)
{
    const struct pyusdt_table_block *block = (const void *)r->body;
    struct pyusdt_probe_table *table;
    uint64_t descs;

    if (r->block.size < sizeof *block || block->number != r->ntables || block->number >= TABLES_MAX)
        return damaged(r, "a probe table out of order");
    descs = (uint64_t)block->ndescs * sizeof(struct pyusdt_ctl_desc);
    if (block->strings_size == 0 || descs + block->strings_size > r->block.size - sizeof *block)
        return damaged(r, "a probe table that is cut off");
    if (block->number < r->all_tables) {
        r->ntables++;
        return 0;
    }
    if (make_room((void **)&r->tables, r->all_tables, sizeof *r->tables) != 0 ||
        !(table = malloc(sizeof *table + descs + block->strings_size)))
        return damaged(r, "no memory for a probe table");
    memcpy(table + 1, block + 1, descs + block->strings_size);
    *table = (struct pyusdt_probe_table){.descs = (const void *)(table + 1),
                                         .strings = (const char *)(table + 1) + descs,
                                         .ndescs = block->ndescs,
                                         .strings_size = block->strings_size,
                                         .nprobes = block->nprobes};
    if (pyusdt_probe_table_check(table) != 0) {
        free(table);
        return damaged(r, "a probe table that makes no sense");
    }
    r->tables[r->all_tables++] = table;
    r->ntables++;
    r->kept += r->block.size;
    return 0;
}

static int read_target(struct pyusdt_replay *r)
{
    const struct pyusdt_target_block *block = (const void *)r->body;
    size_t size =
        r->header.version == 3 ? offsetof(struct pyusdt_target_block, ancestors) : sizeof *block;
    const struct pyusdt_probe_table *table;
    struct target *target;

    if (r->block.size != size || block->target > r->ntargets || block->target >= TARGETS_MAX ||
        block->table >= r->ntables)
        return damaged(r, "a target out of order");
    if (block->target == r->all_targets) {
        if (make_room((void **)&r->targets, r->all_targets, sizeof *r->targets) != 0)
            return damaged(r, "no memory for a target");
        memset(&r->targets[r->all_targets++].places, 0, sizeof r->targets->places);
        r->kept += sizeof *r->targets;
    }
    table = r->tables[block->table];
    target = &r->targets[block->target];
    if (block->target == r->ntargets)
        r->ntargets++;
    else if (table->nprobes < target->table.nprobes)
        return damaged(r, "a target that has lost probes");
    else
        r->nprobes -= target->table.nprobes;
    r->nprobes += table->nprobes;
    r->kept += table->nprobes * (uint64_t)BYTES_PER_NAME;
    if (r->nprobes > (r->streams ? PROBES_OF_MANY : PROBES_MAX))
        return damaged(r, "more probes than pydtrace can distinguish");
    memset(&target->block, 0, sizeof target->block);
    memcpy(&target->block, block, size);
    target->block.comm[sizeof target->block.comm - 1] = '\0';
    target->table = *table;
    target->table.pid = block->pid;
    return 0;
}

/* Numbers have no holes; when the file is read again, the place is there. */
static int read_place(struct pyusdt_replay *r)
{
    char module[PYUSDT_PLACE_MODULE + 1], function[PYUSDT_PLACE_FUNCTION + 1],
        file[PYUSDT_PLACE_FILE + 1];
    const struct pyusdt_place_block *block = (const void *)r->body;
    const char *names = (const char *)(block + 1);
    struct pyusdt_places *places;

    if (r->block.size < sizeof *block || block->target >= r->ntargets || block->number == 0 ||
        block->number > r->targets[block->target].places.n + 1)
        return damaged(r, "a place out of order");
    if (block->module > PYUSDT_PLACE_MODULE || block->function > PYUSDT_PLACE_FUNCTION ||
        block->file > PYUSDT_PLACE_FILE ||
        r->block.size - sizeof *block < (uint64_t)block->module + block->function + block->file)
        return damaged(r, "a place that makes no sense");
    places = &r->targets[block->target].places;
    if (block->number <= places->n)
        return 0;
    r->kept += BYTES_PER_NAME - pyusdt_places_memory(places);
    snprintf(module, sizeof module, "%.*s", block->module, names);
    snprintf(function, sizeof function, "%.*s", block->function, names + block->module);
    snprintf(file, sizeof file, "%.*s", block->file, names + block->module + block->function);
    if (pyusdt_places_add(places,
                          &(struct pyusdt_place_info){module, function, file, block->line}) != 0)
        return damaged(r, "more places than there can be");
    r->kept += pyusdt_places_memory(places);
    return 0;
}

static const struct pyusdt_ring_event *event_of(const struct pyusdt_replay *r)
{
    return (const void *)(r->body + sizeof(struct pyusdt_event_block));
}

static int check_event(struct pyusdt_replay *r)
{
    const struct pyusdt_event_block *block = (const void *)r->body;
    const struct pyusdt_ring_event *header = event_of(r);

    if (r->block.size < sizeof *block + sizeof *header ||
        !pyusdt_event_is_header_valid(header, r->block.size - sizeof *block) ||
        block->target >= r->ntargets ||
        PYUSDT_EVENT_PROBE(header->probe) >= r->targets[block->target].table.nprobes ||
        PYUSDT_EVENT_PLACE(header->probe) > r->targets[block->target].places.n)
        return damaged(r, "an event that makes no sense");
    return 0;
}

static int read_header(struct pyusdt_replay *r, struct pyusdt_error *error);

/* Of what comes in portions: the next block is here as a whole, behind the header. */
static bool is_block_complete(struct pyusdt_replay *r)
{
    struct pyusdt_error error;
    struct pyusdt_block block;

    if (!r->begun) {
        if (r->filled - r->at < sizeof r->header)
            return false;
        r->begun = true;
        if (read_header(r, &error) != 0) {
            damaged(r, "it is no recording, or one of another version or byte order");
            return false;
        }
    }
    if (r->filled - r->at < sizeof block)
        return false;
    memcpy(&block, r->stream + r->at, sizeof block);
    return block.size > BLOCK_MAX || r->filled - r->at - sizeof block >= block.size;
}

/* 1: the next block is an event, and waits in body; 0: the end, or of what comes in portions: not yet; or the file is damaged. */
static int next_event(struct pyusdt_replay *r)
{
    while (!r->over && (!r->streams || is_block_complete(r))) {
        int code = 0;
        if (!read_bytes(r, &r->block, sizeof r->block))
            return damaged(r, "it ends in the middle");
        if (r->block.size % 8 != 0 || r->block.size > BLOCK_MAX)
            return damaged(r, "a block of an impossible size");
        if (!read_bytes(r, r->body, r->block.size))
            return damaged(r, "it ends in the middle");
        if (r->block.kind == PYUSDT_BLOCK_EVENT)
            return check_event(r) == 0 ? 1 : -EBADMSG;
        if (r->block.kind == PYUSDT_BLOCK_TABLE)
            code = read_table(r);
        else if (r->block.kind == PYUSDT_BLOCK_TARGET)
            code = read_target(r);
        else if (r->block.kind == PYUSDT_BLOCK_PLACE)
            code = read_place(r);
        else if (r->block.kind == PYUSDT_BLOCK_DROPS && r->block.size == sizeof r->loss)
            memcpy(&r->loss, r->body, sizeof r->loss);
        else if (r->block.kind == PYUSDT_BLOCK_END && r->block.size == sizeof r->end) {
            memcpy(&r->end, r->body, sizeof r->end);
            r->over = true;
        } else if (r->block.kind != PYUSDT_BLOCK_PATHS) /* which the compiler reads */
            code = damaged(r, "a block of an unknown kind");
        if (code != 0)
            return code;
    }
    return 0;
}

/* ---- as a feed ---- */

static int poll(void *of, uint64_t until_ns, int max_events, pyusdt_event_fn *fn, void *arg)
{
    struct pyusdt_replay *r = of;
    bool stop = false;
    int n = 0;

    while (!stop && (max_events <= 0 || n < max_events)) {
        struct pyusdt_event event;
        if (!r->waiting && next_event(r) != 1)
            break;
        r->waiting = true;
        const struct pyusdt_ring_event *header = event_of(r);
        if (header->time > until_ns)
            break;
        r->waiting = false;
        r->last = r->last > header->time ? r->last : header->time;
        event.target = ((const struct pyusdt_event_block *)(const void *)r->body)->target;
        uint8_t *bytes = r->body + sizeof(struct pyusdt_event_block);
        uint32_t end = pyusdt_event_values_end(header);
        if (pyusdt_event_decode(header, end, bytes + sizeof *header, bytes + end, &event) != 0) {
            damaged(r, "an event that makes no sense");
            break;
        }
        n++;
        stop = fn(arg, &event) != 0;
    }
    return n;
}

static int target_info(const void *of, uint32_t number, struct pyusdt_target_info *info)
{
    const struct pyusdt_replay *r = of;
    const struct target *target;

    if (number >= r->ntargets)
        return -ENOENT;
    target = &r->targets[number];
    *info = (struct pyusdt_target_info){.pid = target->block.pid,
                                        .uid = target->block.uid,
                                        .gid = target->block.gid,
                                        .nprobes = target->table.nprobes,
                                        .visible = 1};
    memcpy(info->ancestors, target->block.ancestors, sizeof info->ancestors);
    memcpy(info->comm, target->block.comm, sizeof info->comm);
    return 0;
}

static int probe_info(const void *of, uint32_t number, uint32_t probe,
                      struct pyusdt_probe_info *info)
{
    const struct pyusdt_replay *r = of;
    return number < r->ntargets ? pyusdt_probe_table_info(&r->targets[number].table, probe, info)
                                : -ENOENT;
}

static int place_info(const void *of, uint32_t number, uint32_t place,
                      struct pyusdt_place_info *info)
{
    const struct pyusdt_replay *r = of;
    return number < r->ntargets && pyusdt_places_get(&r->targets[number].places, place, info)
               ? 0
               : -ENOENT;
}

static uint32_t targets(const void *of)
{
    return ((const struct pyusdt_replay *)of)->ntargets;
}

const struct pyusdt_event_source_ops pyusdt_replay_source_ops = {
    poll, target_info, probe_info, place_info, targets, NULL, NULL};

/* ---- opening ---- */

static void rewind_to_first(struct pyusdt_replay *r)
{
    r->over = lseek(r->fd, (off_t)sizeof r->header, SEEK_SET) < 0;
    r->filled = r->at = 0;
    r->ntables = r->ntargets = 0;
    r->nprobes = 0;
    r->loss = (struct pyusdt_drops_block){0, 0};
}

static int ignore_event(void *arg, const struct pyusdt_event *event)
{
    (void)arg, (void)event;
    return 0;
}

/* Reads to the end once, to know the targets and when tracing ended. */
static void scan_to_end(struct pyusdt_replay *r)
{
    r->end = 0;
    while (poll(r, UINT64_MAX, 0, ignore_event, NULL) > 0)
        ;
    if (r->end < r->last)
        r->end = r->last;
    if (r->end < r->header.begun)
        r->end = r->header.begun;
}

/* The header, when a flight recorder's file has become a recording. */
static int read_header(struct pyusdt_replay *r, struct pyusdt_error *error)
{
    if (!read_bytes(r, &r->header, sizeof r->header))
        return pyusdt_error_set(error, -EBADMSG, "not a recording of pydtrace");
    if (r->header.magic == PYUSDT_FLIGHT_MAGIC && !r->streams) {
        r->fd = pyusdt_flight_convert(r->fd, error);
        r->filled = r->at = 0;
        if (r->fd < 0)
            return r->fd;
        if (!read_bytes(r, &r->header, sizeof r->header))
            return pyusdt_error_set(error, -EIO,
                                    "the copy of a flight recorder's file cannot be read");
    }
    if (r->header.magic != PYUSDT_RECORD_MAGIC)
        return pyusdt_error_set(error, -EBADMSG, "not a recording of pydtrace");
    if (r->header.version < PYUSDT_RECORD_OLDEST || r->header.version > PYUSDT_RECORD_VERSION ||
        r->header.order != PYUSDT_RECORD_ORDER)
        return pyusdt_error_set(error, -EPROTONOSUPPORT,
                                "a recording of another version or byte order");
    return 0;
}

int pyusdt_replay_open(int fd, struct pyusdt_replay **out, struct pyusdt_error *error)
{
    struct pyusdt_replay *r = calloc(1, sizeof *r);
    int code = 0;

    if (r)
        r->fd = fd;
    else
        close(fd);
    if (!r || !(r->body = calloc(1, BLOCK_MAX)))
        code = pyusdt_error_set(error, -ENOMEM, "no memory for a recording");
    else
        code = read_header(r, error);
    if (code != 0) {
        pyusdt_replay_close(r);
        return code;
    }
    r->header.host[sizeof r->header.host - 1] = '\0';
    scan_to_end(r);
    uint64_t end = r->end;
    rewind_to_first(r);
    r->end = end;
    *out = r;
    return 0;
}

int pyusdt_replay_stream(struct pyusdt_replay **out)
{
    struct pyusdt_replay *r = calloc(1, sizeof *r);

    if (!r || !(r->body = calloc(1, BLOCK_MAX))) {
        free(r);
        return -ENOMEM;
    }
    r->fd = -1;
    r->streams = true;
    r->kept = sizeof *r + BLOCK_MAX;
    *out = r;
    return 0;
}

int pyusdt_replay_put(struct pyusdt_replay *r, const void *data, size_t size)
{
    size_t left = r->filled - r->at;

    if (r->over)
        return 0;
    if (left + size > r->room) {
        size_t room = 2 * (left + size);
        uint8_t *more = malloc(room);
        if (!more)
            return -ENOMEM;
        if (left > 0)
            memcpy(more, r->stream + r->at, left);
        free(r->stream);
        r->stream = more;
        r->room = room;
    } else if (left > 0) {
        memmove(r->stream, r->stream + r->at, left);
    }
    memcpy(r->stream + left, data, size);
    r->at = 0;
    r->filled = left + size;
    return 0;
}

void pyusdt_replay_finish(struct pyusdt_replay *r)
{
    free(r->stream);
    r->stream = NULL;
    r->room = r->filled = r->at = 0;
    r->over = true;
    r->waiting = false;
}

size_t pyusdt_replay_unread(const struct pyusdt_replay *r)
{
    return r->filled - r->at;
}

uint64_t pyusdt_replay_memory(const struct pyusdt_replay *r)
{
    return r->kept;
}

void pyusdt_replay_close(struct pyusdt_replay *r)
{
    if (!r)
        return;
    for (uint32_t i = 0; i < r->all_tables; i++)
        free(r->tables[i]);
    free(r->tables);
    for (uint32_t i = 0; i < r->all_targets; i++)
        pyusdt_places_free(&r->targets[i].places);
    free(r->targets);
    free(r->body);
    free(r->stream);
    if (r->fd >= 0)
        close(r->fd);
    free(r);
}

const struct pyusdt_record_header *pyusdt_replay_header(const struct pyusdt_replay *r)
{
    return &r->header;
}

uint64_t pyusdt_replay_end(const struct pyusdt_replay *r)
{
    return r->end;
}

const char *pyusdt_replay_damage(const struct pyusdt_replay *r)
{
    return r->damage;
}

bool pyusdt_replay_next(struct pyusdt_replay *r, uint64_t *time)
{
    if (!r->waiting)
        r->waiting = next_event(r) == 1;
    if (r->waiting)
        *time = event_of(r)->time;
    return r->waiting;
}

bool pyusdt_replay_is_over(const struct pyusdt_replay *r)
{
    return r->over && !r->waiting;
}

void pyusdt_replay_drops(const struct pyusdt_replay *r, struct pyusdt_drops_block *loss)
{
    *loss = r->loss;
}

int pyusdt_replay_list(const struct pyusdt_replay *r, pyusdt_list_fn *fn, void *arg)
{
    for (uint32_t t = 0; t < r->all_targets; t++) {
        struct pyusdt_target_info target = {.pid = r->targets[t].block.pid, .visible = 1};
        for (uint32_t p = 0; p < r->targets[t].table.nprobes; p++) {
            struct pyusdt_probe_info probe;
            int code = pyusdt_probe_table_info(&r->targets[t].table, p, &probe);
            if (code == 0)
                code = fn(arg, &target, &probe);
            if (code == 0)
                code = pyusdt_places_list(&r->targets[t].places, &target, &probe, fn, arg);
            if (code != 0)
                return code;
        }
    }
    return 0;
}
