/*
 * Sessions: by which a tracer asks processes for events.
 *
 * The menu
 *   pyusdt_session_open -> _want … -> _start      from then on targets find the session by themselves
 *   pyusdt_session_attach_pid, _attach_all        which processes may join: those of a list, or all of the user
 *   pyusdt_session_poll (ring_merge.h)            deliver events in the order of their time, each once
 *   pyusdt_session_target, _probe, _stats         what is known of targets and probes, and how many events were dropped
 *   pyusdt_session_close                          the probes are off, the files gone
 *   pyusdt_session_leave (kept_session.h)         a kept session goes on without its tracer
 *
 * - A session is used by one thread at a time. Functions return 0 or a count, or -errno with the error filled in.
 * - In a forked child a session that its parent opened delivers nothing, changes nothing (-ECHILD), and can only be closed.
 * - The files of the run directory are untrusted: every size, offset, index and string is checked on a private copy, and a file that is
 *   truncated while it is mapped reads as zeros.
 */
#ifndef PYUSDT_SESSION_SESSION_H
#define PYUSDT_SESSION_SESSION_H

#include <sys/types.h>

#include "events/event.h"
#include "events/place_table.h"
#include "session/session_config.h"

#pragma GCC visibility push(hidden)

struct pyusdt_session_stats {
    uint64_t delivered;
    uint64_t dropped;      /* events that did not fit, of all targets, the dead ones too */
    uint64_t out_of_order; /* delivered, but after a younger one */
    uint64_t again;   /* delivered, and perhaps shown before: see pyusdt_session_mark_shown() */
    uint64_t corrupt; /* rings given up because the protocol cannot have written their contents */
    uint64_t
        failures; /* processes, rings and directories that could not be read, each reason once: session_warnings.h */
    uint64_t refusals; /* remarks of targets that refuse what is wanted, each text once */
    uint64_t bytes;    /* of all rings mapped now */
    uint32_t targets;  /* indices handed out */
    uint32_t alive;
    uint32_t slot;
    uint32_t others; /* processes with another build of pyusdt that a warning names */
};

struct pyusdt_session;

/* Claims a slot of the run directory (NULL: the user's own, made if need be) and removes the files of dead processes. */
int pyusdt_session_open(const char *rundir, const struct pyusdt_session_config *config,
                        struct pyusdt_session **session, struct pyusdt_error *error);

/* Before start. */
int pyusdt_session_want(struct pyusdt_session *session, const struct pyusdt_want *want);

/* Before start. The argument by which the value of a path is read, each path once; -errno. */
int pyusdt_session_add_path(struct pyusdt_session *session, const void *bytes, size_t size);

/*
 * Every process of its run directories may join: those that run and those to come. Before or after start. If root
 * calls it for its own directory, and PYUSDT_RUNDIR does not name that: the processes of all users.
 */
int pyusdt_session_attach_all(struct pyusdt_session *session, struct pyusdt_error *error);

/* A process that runs, in whatever run directory; errors as of pyusdt_find_process(). A forked child that has fired nothing yet joins
 * with its first probe. */
int pyusdt_session_attach_pid(struct pyusdt_session *session, pid_t pid,
                              struct pyusdt_error *error);

/* A process that is about to start (-c: the child, before it execs): no check, it joins when it publishes. */
int pyusdt_session_expect_pid(struct pyusdt_session *session, pid_t pid,
                              struct pyusdt_error *error);

/* From now on targets see the session. */
int pyusdt_session_start(struct pyusdt_session *session, struct pyusdt_error *error);

int pyusdt_session_target(const struct pyusdt_session *session, uint32_t target,
                          struct pyusdt_target_info *info);
int pyusdt_session_probe(const struct pyusdt_session *session, uint32_t target, uint32_t probe,
                         struct pyusdt_probe_info *info);

/* One of its code locations, by the number that an event has. 0 or -ENOENT. */
int pyusdt_session_place(const struct pyusdt_session *session, uint32_t target, uint32_t place,
                         struct pyusdt_place_info *info);

/* Events of one probe that one target dropped so far; those of a target whose rings could not be made have no probe. */
int64_t pyusdt_session_drops(const struct pyusdt_session *session, uint32_t target, uint32_t probe);
void pyusdt_session_stats(struct pyusdt_session *session, struct pyusdt_session_stats *stats);

/* Whether the process that has this id now is one of the targets: ids are used again. */
int pyusdt_session_has_process(const struct pyusdt_session *session, uint32_t pid);

/*
 * Switches the session's probes off. No process joins any more, and the session learns of those that it had not seen join.
 * Events that are not polled yet stay readable: poll until it returns 0 to have them all. (Such a poll may wait for a producer
 * that is inside a firing, orderlag at most.)
 */
void pyusdt_session_stop(struct pyusdt_session *session);

/* Stops, removes its files, frees it. NULL is fine. */
void pyusdt_session_close(struct pyusdt_session *session);

/* Frees a kept session and lets it go on. The next tracer of the session does not get the delivered events again. */
void pyusdt_session_leave(struct pyusdt_session *session);

/* Frees the memory only: files and locks stay. */
void pyusdt_session_free(struct pyusdt_session *session);

#pragma GCC visibility pop

#endif
