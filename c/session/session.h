/*
 * The tracer's side of the rings: sessions, their targets, and the events in time order.
 *
 * In:  the run directory's control, area and ring files. A process may have written anything into them: every size, offset,
 *      index and string is checked on a private copy, and a file truncated while it is mapped reads as zeros.
 * Out: events, in order of time over all threads and processes, each once; what was lost, counted.
 *
 * The menu
 *   pyusdt_session_open -> _want … -> _start      from then on targets find the session by themselves
 *   pyusdt_session_attach_pid, _attach_all        which processes may join: those of a list, or all of the user
 *   pyusdt_session_poll                           deliver what is ripe
 *   pyusdt_session_target, _probe, _stats         what is known of targets and probes
 *   pyusdt_session_close                          the probes are off, the files gone
 *   pyusdt_list                                   the probes of running processes, without a session
 *
 * A session is used by one thread at a time. Functions return 0 or a count, or -errno with the error filled in. In a forked
 * child a session that its parent opened delivers nothing, changes nothing (-ECHILD), and can only be closed.
 */
#ifndef PYUSDT_SESSION_SESSION_H
#define PYUSDT_SESSION_SESSION_H

#include <stdbool.h>
#include <sys/types.h>

#include "pyusdt.h"
#include "shared/limits.h"
#include "shared/probe_info.h"
#include "events/place_table.h"

#pragma GCC visibility push(hidden)

#define PYUSDT_TARGETS_MAX 65536 /* processes that one session reads at once */

/* 0 or NULL anywhere: the default. */
struct pyusdt_session_config {
    uint64_t bufsize;   /* bytes of one ring, rounded up to a power of two, 64 KiB … 1 GiB; 1 MiB */
    uint32_t max_rings; /* per process, 1 … PYUSDT_RINGS_MAX; all of them */
    uint64_t
        orderlag_ns;  /* how long delivery waits for a producer that is inside a firing; 100 ms */
    const char *comm; /* only processes of this name join; any */
    pid_t
        home; /* where no directory is named: a process whose run directory it is opened in; the user's own */
    bool children; /* processes that are named by pid join with their descendants */
    /* A session that goes on when its tracer ends, until a tracer opens one of the same name for the same probes: */
    const char *keep;    /* its name; "": none */
    uint64_t keep_ns;    /* for how long */
    uint64_t keep_bytes; /* how many bytes of rings all processes together may have */
};

/* One firing. Valid during the callback; strings are NUL-terminated and hold length bytes before it. */
struct pyusdt_event {
    uint64_t time;   /* CLOCK_MONOTONIC, ns */
    uint32_t target; /* index for pyusdt_session_target() */
    uint32_t probe;  /* index in the target's probe table, always below its nprobes */
    uint32_t place;  /* where it fired, for pyusdt_session_place(); 0: the probe has no places */
    uint32_t tid;
    uint32_t cpu;
    uint32_t args; /* bit i: it has argument i; the others are 0 */
    uint32_t ncaptures;
    uint64_t arg[PYUSDT_MAX_ARGS];
    struct pyusdt_capture {
        uint64_t address;
        uint32_t length;
        uint32_t index; /* the argument that it is */
        const char *data;
    } capture[PYUSDT_MAX_ARGS];
    const uint8_t *frames; /* of the stack, 8 bytes each (pyusdt_frame), anywhere in memory */
    uint32_t nframes;      /* at most PYUSDT_MAX_FRAMES; 0: none was taken */
    bool more;             /* there were more than were wanted */
};

/* Returns 0 to go on, anything else to have pyusdt_session_poll() return at once (this event counts as delivered). */
typedef int pyusdt_event_fn(void *arg, const struct pyusdt_event *event);

struct pyusdt_target_info {
    uint32_t pid; /* as the tracer sees it, where it can */
    uint32_t uid;
    uint32_t gid;
    uint32_t nprobes;
    uint32_t rings;
    uint32_t wanted; /* probes that this session has enabled in it */
    int alive;       /* 0: dead, and everything that it had published has been delivered */
    int visible; /* 0: the tracer has no pid for it, which is in another pid namespace: pid is what it has there */
    uint32_t host; /* of merged_replay.h: where it is, 1, 2, …; 0: here */
    uint32_t ancestors
        [PYUSDT_CTL_ANCESTORS]; /* as it says itself, where its pids mean something to the tracer; else zeros */
    char comm[16];
};

struct pyusdt_session_stats {
    uint64_t delivered;
    uint64_t dropped;      /* events that did not fit, of all targets, the dead ones too */
    uint64_t out_of_order; /* delivered, but after a younger one */
    uint64_t again;        /* delivered, and perhaps shown before: see pyusdt_session_shown() */
    uint64_t corrupt; /* rings given up because the protocol can not have written their contents */
    uint64_t
        failures; /* processes, rings and directories that could not be read, each reason once: pyusdt_session_told() */
    uint64_t bytes;   /* of all rings mapped now */
    uint32_t targets; /* indices handed out */
    uint32_t alive;
    uint32_t slot;
    uint32_t
        others; /* processes with another build of pyusdt that were told of (pyusdt_session_told()) */
};

struct pyusdt_session;

/* Claims a slot of the run directory (NULL: the user's own, made if need be) and removes the files of dead processes. */
int pyusdt_session_open(const char *rundir, const struct pyusdt_session_config *config,
                        struct pyusdt_session **session, struct pyusdt_error *error);

/* Before start. */
int pyusdt_session_want(struct pyusdt_session *session, const struct pyusdt_want *want);

/*
 * Every process of its run directories may join: those that run and those to come. Before or after start. If root
 * calls it for its own directory, and PYUSDT_RUNDIR does not name that: the processes of all users.
 */
int pyusdt_session_attach_all(struct pyusdt_session *session, struct pyusdt_error *error);

/*
 * A process that runs, in whatever run directory. -ESRCH no such process; -EPERM another user's; -ENODATA no pyusdt in
 * it. A forked child that has fired nothing yet joins with its first probe.
 */
int pyusdt_session_attach_pid(struct pyusdt_session *session, pid_t pid,
                              struct pyusdt_error *error);

/* A process that is about to start (-c: the child, before it execs): no check, it joins when it publishes. */
int pyusdt_session_expect_pid(struct pyusdt_session *session, pid_t pid,
                              struct pyusdt_error *error);

/* From now on targets see the session. */
int pyusdt_session_start(struct pyusdt_session *session, struct pyusdt_error *error);

/*
 * Delivers events with time <= until_ns (UINT64_MAX: as far as is safe), at most max_events (0: no bound); returns how
 * many. It also finds new processes and rings. Never waits: call it again after a while.
 */
int pyusdt_session_poll(struct pyusdt_session *session, uint64_t until_ns, int max_events,
                        pyusdt_event_fn *fn, void *arg);

/* --- several readers: parallel_consumers.h --- */

/* Before start: the rings are in this many shares; whoever reads one sees its events in the order of their time, and there is no
 * order between shares. 0 or -errno. pyusdt_session_poll() is for a session of one share. */
int pyusdt_session_divide(struct pyusdt_session *session, uint32_t shares);

/* As pyusdt_session_poll(), by a function that delivers what is there in all shares, calling pyusdt_session_deliver(); it sets
 * *stop where nothing more is wanted. */
typedef int pyusdt_deliver_fn(void *arg, struct pyusdt_session *session, uint64_t until_ns,
                              int max_events, bool *stop);
int pyusdt_session_poll_by(struct pyusdt_session *session, uint64_t until_ns, int max_events,
                           pyusdt_deliver_fn *deliver, void *arg);

/* Events of one share that were there at the last look; how many. *stop is set when fn returns nonzero. */
int pyusdt_session_deliver(struct pyusdt_session *session, uint32_t share, uint64_t until_ns,
                           int max_events, pyusdt_event_fn *fn, void *arg, bool *stop);

/* What the processes of one of the session's run directories have cost the reader so far; a user may have several. -ENOENT: no such
 * directory. Not while threads deliver apart. */
struct pyusdt_user_work {
    uint32_t uid;
    uint64_t work; /* for events and looks, in units: shares of them compare users */
    uint64_t ns;   /* processor time, for processes that come, change and go */
};
int pyusdt_session_user(const struct pyusdt_session *session, uint32_t n,
                        struct pyusdt_user_work *work);

/* Ends the tracing of all processes of a user, for good. What they have fired and was not delivered is dropped, and counted. */
void pyusdt_session_cut_off(struct pyusdt_session *session, uint32_t uid);

/* From now on several threads deliver, each its own shares, and nothing else is done with the session, until this is taken back. An
 * event of a probe or a place that the session does not know yet is left then, as is one for which fn returns PYUSDT_EVENT_LEFT. */
void pyusdt_session_apart(struct pyusdt_session *session, bool apart);
#define PYUSDT_EVENT_LEFT INT32_MAX
bool pyusdt_session_left(const struct pyusdt_session *session,
                         uint32_t share); /* the last delivery left an event */
uint64_t pyusdt_session_waiting(const struct pyusdt_session *session,
                                uint32_t share); /* bytes that it has to read */

/*
 * Hands on what targets have counted of those descriptions whose want says `counts`, since the last call: for each probe and place
 * one event, whose arg[0] is how many firings it stands for. Who wants that calls it now and then, and after the last poll: a
 * process that is dead is finished only then.
 */
void pyusdt_session_counts(struct pyusdt_session *session, pyusdt_event_fn *fn, void *arg);

/* Everything older than this has been delivered (but for what will be counted as out of order). */
uint64_t pyusdt_session_watermark(const struct pyusdt_session *session);

int pyusdt_session_target(const struct pyusdt_session *session, uint32_t target,
                          struct pyusdt_target_info *info);
int pyusdt_session_probe(const struct pyusdt_session *session, uint32_t target, uint32_t probe,
                         struct pyusdt_probe_info *info);

/* One of its places, by the number that an event has. 0 or -ENOENT. */
int pyusdt_session_place(const struct pyusdt_session *session, uint32_t target, uint32_t place,
                         struct pyusdt_place_info *info);

/* Events of one probe that one target dropped so far; those of a target whose rings could not be made have no probe. */
int64_t pyusdt_session_drops(const struct pyusdt_session *session, uint32_t target, uint32_t probe);
void pyusdt_session_stats(struct pyusdt_session *session, struct pyusdt_session_stats *stats);

/* Whether a ring was more than half full when the last poll looked at them: who sleeps now may lose events. */
bool pyusdt_session_crowded(const struct pyusdt_session *session);

/*
 * Switches the session's probes off. No process joins any more, and the session learns of those that it had not seen join.
 * Events that are not polled yet stay readable: poll until it returns 0 to have them all. (Such a poll may wait for a producer
 * that is inside a firing, orderlag at most.)
 */
void pyusdt_session_stop(struct pyusdt_session *session);

/* Stops, removes its files, frees it. NULL is fine. */
void pyusdt_session_close(struct pyusdt_session *session);

/*
 * Tells a kept session that the user has seen the events delivered so far. If this tracer is killed, the next tracer of the
 * session does not get these events again. It does get events delivered later, but before the kill, and counts them (`again`).
 */
void pyusdt_session_shown(struct pyusdt_session *session);

/* The n-th message for the user about a process that is not traced; NULL: no more. */
const char *pyusdt_session_told(const struct pyusdt_session *session, uint32_t n);

/* The same about other users' processes and those of containers, of which the first few are kept; how many there are. */
const char *pyusdt_session_stranger_told(const struct pyusdt_session *session, uint32_t n,
                                         uint32_t *count);

/* The n-th of what processes say of the wanted probes that holds for some sessions alone, by its kind; NULL: there are no more. */
const char *pyusdt_session_hint(const struct pyusdt_session *session, uint32_t n,
                                enum pyusdt_remark *kind);

/* Whether the process that has this id now is one of the targets: ids are used again. */
int pyusdt_session_has(const struct pyusdt_session *session, uint32_t pid);

/* Frees a kept session and lets it go on. The next tracer of the session does not get the delivered events again. */
void pyusdt_session_leave(struct pyusdt_session *session);

/* Whether this session was left before, and goes on now. */
int pyusdt_session_resumed(const struct pyusdt_session *session);

/*
 * Calls fn for each probe of each live process of the run directory (NULL: the user's own), or of one process (pid not
 * 0, found wherever its run directory is). With `beside`, also of all other processes of that one's run directory. Stops when
 * fn returns nonzero. Returns how many processes were seen.
 */
typedef int pyusdt_list_fn(void *arg, const struct pyusdt_target_info *target,
                           const struct pyusdt_probe_info *probe);
int pyusdt_places_list(const struct pyusdt_places *places, const struct pyusdt_target_info *target,
                       const struct pyusdt_probe_info *probe, pyusdt_list_fn *fn,
                       void *arg); /* a probe that has places at each of those that are known */
int pyusdt_list(const char *rundir, pid_t pid, bool beside, pyusdt_list_fn *fn, void *arg,
                struct pyusdt_error *error);
/* The probes of the processes that joined a kept session and have ended since; before it is started. 0 or -errno */
/* Processes with another build of pyusdt, one that this does not understand: the sentence that says so, each. 0 or -errno. */
typedef void pyusdt_other_fn(void *arg, uint32_t pid, const char *sentence);
int pyusdt_list_others(pyusdt_other_fn *fn, void *arg, struct pyusdt_error *error);
int pyusdt_session_list_dead(struct pyusdt_session *session, pyusdt_list_fn *fn, void *arg);

/* A process that runs and a session that traces it: what its rings and counters say, which are the process's to write. */
struct pyusdt_looked {
    uint32_t pid, tracer; /* as for a target, and as the tracer knows its own */
    int visible;
    char comm[16];
    uint32_t rings; /* how many */
    uint64_t published, unread, room,
        lost; /* bytes that came, ever, that nobody has read yet, of all rings; events */
};

/* Calls fn for each of them in the run directories of pyusdt_list(NULL, 0, …); stops when it returns nonzero. 0 or -errno. */
typedef int pyusdt_look_fn(void *arg, const struct pyusdt_looked *looked);
int pyusdt_look(pyusdt_look_fn *fn, void *arg, struct pyusdt_error *error);

/* The run directory of a process that has pyusdt in it, for people to read. 1: it will publish itself there with its first probe, as a
 * forked child does; 0: it has done so. Errors as for attach_pid. */
int pyusdt_find_rundir(pid_t pid, char *path, size_t size, struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
