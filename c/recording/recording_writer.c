/* What a session delivers, as a recording: see recording.h. */
#define _GNU_SOURCE
#include "recording/recording_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "events/event_decode.h"
#include "recording/recording_file.h"
#include "session/session.h"
#include "session/session_state.h"

struct pyusdt_recorder {
    struct pyusdt_session *session;
    struct written {
        uint32_t nprobes, nplaces;
    } *written; /* of each target that is in the file, as it is there */
    uint32_t ntargets, room;
    uint32_t ntables;
    char *table; /* what was written last, which most targets share */
    uint32_t table_size;
    struct pyusdt_drops_block loss;
    struct pyusdt_record_file file;
};

static void put_table(struct pyusdt_recorder *r, const struct pyusdt_table_copy *copy)
{
    pyusdt_record_table(&r->file, r->ntables++, &copy->table);
    free(r->table);
    r->table = malloc(copy->size);
    r->table_size = r->table ? copy->size : 0;
    if (r->table)
        memcpy(r->table, copy->bytes, copy->size);
}

static void put_target(struct pyusdt_recorder *r, uint32_t index)
{
    const struct pyusdt_target *target = r->session->targets[index];
    struct pyusdt_target_block block = {index,       0,           target->pid, target->who.pid,
                                        target->uid, target->gid, "",          {0}};

    if (r->table_size != target->table->size ||
        memcmp(r->table, target->table->bytes, r->table_size) != 0)
        put_table(r, target->table);
    block.table = r->ntables - 1;
    memcpy(block.comm, target->comm, sizeof block.comm);
    if (target->ancestors_known)
        memcpy(block.ancestors, target->ancestors, sizeof block.ancestors);
    pyusdt_record_block(&r->file, PYUSDT_BLOCK_TARGET, &block, sizeof block);
    r->written[index].nprobes = target->table->table.nprobes;
}

/* All targets that the session has by now: they get their numbers in the order in which it met them. */
static void put_new_targets(struct pyusdt_recorder *r)
{
    if (r->session->ntargets > r->room) {
        uint32_t room = 2 * r->session->ntargets;
        void *more = realloc(r->written, room * sizeof *r->written);
        if (!more) {
            r->file.failed = r->file.failed ? r->file.failed : -ENOMEM;
            return;
        }
        r->written = more;
        r->room = room;
    }
    for (; r->ntargets < r->session->ntargets; r->ntargets++) {
        r->written[r->ntargets].nplaces = 0;
        put_target(r, r->ntargets);
    }
}

/* All places of the target up to this one. */
static void put_places(struct pyusdt_recorder *r, uint32_t index, uint32_t last)
{
    struct written *written = &r->written[index];
    struct pyusdt_place_info place;

    while (written->nplaces < last &&
           pyusdt_session_place(r->session, index, written->nplaces + 1, &place) == 0)
        pyusdt_record_place(&r->file, index, ++written->nplaces, &place);
}

/* Returns where it ends. */
static size_t put_capture(uint8_t *bytes, size_t at, uint32_t index, const void *data,
                          uint32_t length)
{
    struct pyusdt_ring_capture capture = {(uint16_t)index, (uint16_t)length};
    size_t end = (at + sizeof capture + length + 1 + 3) & ~3ull;

    memset(bytes + end - 4, 0, 4);
    memcpy(bytes + at, &capture, sizeof capture);
    memcpy(bytes + at + sizeof capture, data, length);
    return end;
}

static void put_event(struct pyusdt_recorder *r, const struct pyusdt_event *event)
{
    uint8_t bytes[(PYUSDT_EVENT_MAX + 7) & ~7ull];
    struct pyusdt_event_block block = {event->target, 0};
    struct pyusdt_ring_event header = {
        .probe = PYUSDT_EVENT_WORD(event->probe, event->place),
        .time = event->time,
        .tid = event->tid,
        .cpu = (uint16_t)event->cpu,
        .args = PYUSDT_EVENT_HAS(event->args, event->ncaptures + (event->nframes > 0))};
    size_t at = sizeof header;

    for (uint32_t args = event->args; args != 0; args &= args - 1, at += 8)
        memcpy(bytes + at, &event->arg[__builtin_ctz(args)], 8);
    for (uint32_t i = 0; i < event->ncaptures; i++) {
        const struct pyusdt_capture *from = &event->capture[i];
        at = put_capture(bytes, at, from->index, from->data, from->length);
    }
    if (event->nframes > 0)
        at = put_capture(bytes, at, PYUSDT_CAPTURE_STACK, event->frames,
                         8u * (event->nframes + event->more));
    header.size = (uint32_t)((at + 7) & ~7ull);
    memset(bytes + at, 0, header.size - at);
    memcpy(bytes, &header, sizeof header);
    pyusdt_record_begin(&r->file, PYUSDT_BLOCK_EVENT, sizeof block + header.size);
    pyusdt_record_put(&r->file, &block, sizeof block);
    pyusdt_record_put(&r->file, bytes, header.size);
}

void pyusdt_recorder_event(struct pyusdt_recorder *r, const struct pyusdt_event *event)
{
    if (event->target >= r->ntargets)
        put_new_targets(r);
    if (event->target >= r->ntargets)
        return;
    if (event->probe >= r->written[event->target].nprobes)
        put_target(r, event->target);
    put_places(r, event->target, event->place);
    put_places(r, event->target, pyusdt_event_max_place(event));
    put_event(r, event);
}

int pyusdt_recorder_flush(struct pyusdt_recorder *r)
{
    struct pyusdt_session_stats stats;

    pyusdt_session_stats(r->session, &stats);
    if (stats.dropped != r->loss.dropped || stats.out_of_order != r->loss.out_of_order) {
        r->loss = (struct pyusdt_drops_block){stats.dropped, stats.out_of_order};
        pyusdt_record_block(&r->file, PYUSDT_BLOCK_DROPS, &r->loss, sizeof r->loss);
    }
    return pyusdt_record_flush(&r->file);
}

int pyusdt_recorder_new(int fd, struct pyusdt_session *session,
                        const struct pyusdt_record_header *header, const void *paths,
                        uint32_t paths_size, struct pyusdt_recorder **out)
{
    struct pyusdt_recorder *r = calloc(1, sizeof *r);

    if (!r) {
        close(fd);
        return -ENOMEM;
    }
    r->file.fd = fd;
    r->session = session;
    pyusdt_record_header(&r->file, *header);
    if (paths_size != 0)
        pyusdt_record_paths(&r->file, paths, paths_size);
    *out = r;
    return pyusdt_record_flush(&r->file);
}

int pyusdt_recorder_close(struct pyusdt_recorder *r, uint64_t time)
{
    int failed;

    pyusdt_recorder_flush(r);
    pyusdt_record_block(&r->file, PYUSDT_BLOCK_END, &time, sizeof time);
    failed = pyusdt_record_flush(&r->file);
    if (close(r->file.fd) != 0 && failed == 0)
        failed = -errno;
    free(r->written);
    free(r->table);
    free(r);
    return failed;
}
