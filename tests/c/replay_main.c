/*
 * Prints a recording, one event a line: replay_main FILE. For test_recording_readers.py, which reads it in its own way, too, and runs
 * this on another processor.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "hook_kill.h"
#include "recording/recording_reader.h"

static int on_event(void *arg, const struct pyusdt_event *event)
{
    struct pyusdt_target_info target;
    struct pyusdt_probe_info probe;
    struct pyusdt_place_info place;

    if (pyusdt_replay_source_ops.target(arg, event->target, &target) != 0 ||
        pyusdt_replay_source_ops.probe(arg, event->target, event->probe, &probe) != 0)
        return 1;
    if (event->place != 0 &&
        pyusdt_replay_source_ops.place(arg, event->target, event->place, &place) != 0)
        return 1;
    printf("%" PRIu64 " %u %s %s:%s:%s:%s %u", event->time, target.pid, target.comm, probe.provider,
           event->place ? place.module : probe.module,
           event->place ? place.function : probe.function, probe.name, event->tid);
    for (uint32_t i = 0; i < PYUSDT_MAX_ARGS; i++)
        if (event->args >> i & 1)
            printf(" %" PRIu64, event->arg[i]);
    for (uint32_t i = 0; i < event->ncaptures; i++)
        printf(" %u=%s", event->capture[i].index, event->capture[i].data);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    struct pyusdt_replay *replay;
    struct pyusdt_error error;

    if (argc != 2 || pyusdt_replay_open(open(argv[1], O_RDONLY), &replay, &error) != 0)
        return 1;
    pyusdt_replay_source_ops.poll(replay, UINT64_MAX, 0, on_event, replay);
    printf("%" PRIu64 "\n", pyusdt_replay_end(replay));
    pyusdt_replay_close(replay);
    return 0;
}
