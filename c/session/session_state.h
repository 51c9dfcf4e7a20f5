/*
 * The private state of sessions, which the files of this folder share.
 *
 * - Pointers marked "shared" point into shared memory, which is untrusted: the tracer copies a value from there before it checks it, and
 *   uses only the checked copies as sizes, counts and positions.
 */
#ifndef PYUSDT_SESSION_SESSION_STATE_H
#define PYUSDT_SESSION_SESSION_STATE_H

#include <stdbool.h>

#include "shared/test_hook.h"
#include "shared/layout.h"
#include "shared/rundir.h"
#include "shared/session_slot.h"
#include "shared/probe_table.h"
#include "discovery/rundir_iter.h"
#include "discovery/rundir_open.h"
#include "events/place_table.h"

#define PYUSDT_UNTRUSTED_WARNINGS_KEPT 3      /* warnings of untrusted processes that are kept, */
#define PYUSDT_UNTRUSTED_WARNINGS_COUNTED 256 /* and that are counted */
#define PYUSDT_WARNINGS_MAX 16                /* messages for the user that a session keeps */
#define PYUSDT_KNOWN_CHAINS 4096
#define PYUSDT_EVENT_WORK 256 /* of one event, besides its bytes */
#define PYUSDT_UNTRUSTED_TARGETS_MAX \
    1024 /* living processes in the directory of another user, which may be hostile */

/* Bytes of a probe table: as many as PYUSDT_MAX_PROBES long names need. */
#define PYUSDT_TABLE_MAX (1u << 21)

/* A checked copy of a probe table, shared by the targets whose tables are equal. */
struct pyusdt_table_copy {
    struct pyusdt_probe_table table;
    uint32_t users;
    uint32_t size;
    _Alignas(8) char bytes[];
};

/* One ring of one target. */
struct pyusdt_source {
    struct pyusdt_target *target;
    struct pyusdt_share *share;
    const uint8_t *data;      /* shared, twice in a row; NULL: could not be mapped */
    struct pyusdt_line *line; /* shared */
    uint64_t size;            /* 0: given up */
    uint64_t mapped;
    uint64_t position; /* bytes consumed */
    uint64_t
        published; /* the position as it was last written to the shared tail (of a kept session: to `read`) */
    uint64_t done;  /* of a kept session: the position as it was last written to the shared tail */
    uint64_t shown; /* below it, events that a former tracer may have shown */
    bool kept;
    uint64_t limit; /* bytes known to be published */
    uint64_t safe;  /* all events before this time are below limit */
    uint64_t last;  /* time of the last event read: the events behind it are not older */
    uint64_t work;  /* of its events, not added to the base's yet; in units as the base's */
    uint64_t busy_since;
    uint64_t busy_limit;           /* limit when busy_since was set */
    struct pyusdt_ring_event next; /* copy of the header at position, where `waiting` */
    bool waiting;
};

/* Some of a session's rings, which one thread reads at a time: each ring is in one share for its life. */
struct pyusdt_share {
    struct pyusdt_source **heap; /* the sources with a waiting event, the oldest event first */
    uint32_t nheap, room;
    bool deferred; /* an event waits for a reader that is not apart */
    uint64_t last; /* time of the youngest event delivered */
    uint64_t delivered, out_of_order, corrupt;
    uint64_t again; /* events that a kept session's former tracer may have shown */
    _Alignas(8) uint8_t
        rest[(PYUSDT_EVENT_MAX + 7) & ~7ull]; /* of the event that is delivered: its captures */
};

enum pyusdt_life { PYUSDT_ALIVE, PYUSDT_DEAD /* rings still to be read */, PYUSDT_FINISHED };

struct pyusdt_target {
    uint32_t index;
    struct pyusdt_session_dir *rundir; /* where its files are */
    enum pyusdt_life life;
    struct pyusdt_identity who;       /* in its own pid namespace */
    struct pyusdt_target *next_known; /* of its chain */
    uint32_t pid;                     /* in the tracer's */
    bool visible;                     /* the tracer's pid namespace has a pid for it */
    uint32_t uid, gid;
    uint32_t ancestors[PYUSDT_CTL_ANCESTORS]; /* in its own pid namespace, */
    bool ancestors_known;                     /* which is the tracer's */
    char comm[16];
    struct pyusdt_ctl_header *ctl; /* shared; NULL when finished */
    uint32_t ctl_size;
    struct pyusdt_ctl_slot *slot; /* shared */
    _Atomic uint64_t *words;      /* shared */
    uint32_t room;                /* number of words that fit into the file */
    uint32_t changes;             /* of the shared table, at the time of the copy */
    struct pyusdt_table_copy *table;
    const struct pyusdt_ctl_places *places; /* shared; NULL: it has none */
    struct pyusdt_places known_places;      /* copies of those that events came from */
    uint32_t remarks[PYUSDT_REMARKS];       /* those that were taken note of last */
    struct pyusdt_area *area;               /* shared */
    size_t area_size;
    bool area_refused;
    bool rings_refused; /* one that is not mapped yet is tried again at the next refresh */
    bool buffers_warned;
    uint32_t wanted;
    uint32_t rings;
    struct pyusdt_source *source[PYUSDT_RINGS_MAX];
    uint64_t exited_at;
    uint64_t dropped;    /* events that it has lost, by those of its counts that can be true */
    bool drops_invalid;  /* its counts of lost events cannot be true */
    uint64_t *drops;     /* by probe, when the target is finished; NULL: none */
    uint64_t counted;    /* firings that it has counted by itself, those that were taken */
    bool counts_invalid; /* that cannot be true */
    bool counts_taken;   /* since it is dead */
};

/* A run directory in which a session has a slot: session_dir.c. */
struct pyusdt_session_dir {
    struct pyusdt_rundir_handle in;
    uint32_t
        met; /* number of the last scan of containers that found a process in its mount namespace */
    uint32_t
        lookups; /* recent lookups of pids in other namespaces; bounded, against forged control files */
    int fd; /* of the session file, whose flock says that the tracer lives; -1: nothing is traced there */
    bool resumed; /* a kept session that goes on: an earlier tracer started it */
    bool started;
    struct pyusdt_session_header header; /* private; the copy in the file is for the targets */
    int64_t scanned_mtime;               /* of the directory when it was last read, ns */
    int64_t scanned_at;                  /* when it was last read */
    uint64_t
        again_at; /* when it is read again though it has not changed: the last scan was not complete; 0: it was */
    uint32_t nliving;
    bool cut_off; /* its user is traced no more: user_work.c */
    uint64_t
        work; /* of the reader for its events and processes; one unit is about the work for a byte */
    uint64_t ns;       /* processor time of the tracer for its processes that come, change and go */
    uint64_t retry_at; /* where fd is -1: when a slot is tried for again */
};

#define PYUSDT_ORPHANED_MAX 64

struct pyusdt_session {
    struct pyusdt_session_dir
        *rundir[PYUSDT_RUNDIRS_MAX]; /* the first is the one that it was opened with */
    uint32_t nrundirs;
    struct pyusdt_session_header header; /* the values that the headers of all bases share */
    struct pyusdt_want *wants;
    struct pyusdt_path paths[PYUSDT_PATHS_MAX];
    uint32_t npaths;
    uint64_t orderlag;
    uint64_t begun;      /* when it was opened */
    uint32_t processors; /* of the machine */
    uint32_t
        norphaned; /* dead processes whose control files stay mapped, since forked children may count in them */
    uint32_t nwants;
    struct pyusdt_session *next; /* in the list of sessions that are open in this process */
    bool forked; /* the session is the parent's: this forked child only has a copy of its memory */
    bool started, stopped;
    bool counts;                          /* some of what it wants is counted in the targets */
    bool own;                             /* it was opened with the caller's own run directory */
    struct pyusdt_containers *containers; /* the containers found so far: container_scan.c */
    bool expecting; /* waits for a process that is to start, whatever user it will be */
    struct {
        const struct pyusdt_session_dir *rundir; /* NULL: any */
        uint32_t pid;                            /* in the target's namespace */
        uint32_t host;                           /* in the tracer's; 0: the same */
    } pids[PYUSDT_PIDS_MAX];
    unsigned npids;
    int64_t
        parents_mtime[PYUSDT_PARENTS];  /* of the directories in which users' run directories are */
    char *warning[PYUSDT_WARNINGS_MAX]; /* messages for the user */
    uint32_t nwarnings;
    struct {
        char *text[PYUSDT_UNTRUSTED_WARNINGS_KEPT];
        uint64_t hash[PYUSDT_UNTRUSTED_WARNINGS_COUNTED]; /* of each text that was counted */
        uint32_t n;
    } untrusted; /* messages about other users' processes and those of containers, which may be as many as these users like */
    struct {
        char *text;
        enum pyusdt_remark kind;
    } hint[PYUSDT_WARNINGS_MAX]; /* what else processes say of their probes: target_remarks.c */
    uint32_t nhints;
    uint32_t others;   /* of these: about processes that have another build of pyusdt */
    bool full;         /* there were more of them than fit */
    uint64_t failures; /* how often a process or a directory could not be read, each reason once */
    uint64_t refusals; /* remarks of targets that refuse what is wanted, each text once */
    bool
        missed_user; /* in the current scan of users' directories: one could not be opened for the moment */

    struct pyusdt_target **targets;
    uint32_t ntargets;
    uint32_t *living; /* indices of those that are not finished */
    uint32_t nliving;
    struct pyusdt_target *known
        [PYUSDT_KNOWN_CHAINS]; /* the living by identity, so that a file's name finds its target at once */
    uint64_t next_life_check;
    uint64_t next_seen; /* when a kept session's file gets its next `seen` */

    struct pyusdt_share *share;
    uint32_t nshares; /* 1, unless it is divided */
    bool concurrent;  /* several threads read shares now: what they have in common stays as it is */
    uint64_t
        refreshed_at; /* when the rings were last refreshed: an event that was not there then is younger */
    uint64_t watermark;
    bool half_full;   /* one of them was more than half full then */
    uint64_t corrupt; /* rings that could not be mapped */
    uint64_t counted; /* firings that targets have counted by themselves, as they were handed on */
};

#endif
