/* Kept sessions: finding, resuming and checking them. */
#define _GNU_SOURCE
#include "session/kept_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session/session_config.h"
#include "session/session_file.h"
#include "session/session_state.h"
#include "shared/test_hook.h"
#include "shared/session_slot.h"

#define SEEN_NS 1000000000u /* how often the file gets the time of its tracer */
#define CLAIM_TRIES \
    50 /* of 10 ms: a process that checks whether the session lives holds its lock for a moment */

int pyusdt_kept_configure(struct pyusdt_session *session,
                          const struct pyusdt_session_config *config, struct pyusdt_error *error)
{
    struct pyusdt_session_header *header = &session->header;

    if (config && config->comm)
        snprintf(header->comm, sizeof header->comm, "%s", config->comm);
    if (!config || !config->keep || !*config->keep)
        return 0;
    if (strlen(config->keep) >= sizeof header->name)
        return pyusdt_error_set(error, -ENAMETOOLONG, "a kept session's name has at most %zu bytes",
                                sizeof header->name - 1);
    snprintf(header->name, sizeof header->name, "%s", config->keep);
    header->keep_ns = config->keep_ns;
    header->keep_bytes =
        config->keep_bytes > header->bufsize ? config->keep_bytes : header->bufsize;
    header->seen = pyusdt_now();
    return 0;
}

struct search {
    const struct pyusdt_session *session;
    int dir;
    bool found;
    uint32_t slot;
    int failed; /* -errno: a file that may be the session's could not be read for the moment */
};

static bool is_same_session(const struct pyusdt_session *session,
                            const struct pyusdt_session_header *header)
{
    return pyusdt_session_is_kept(header) &&
           memcmp(header->name, session->header.name, sizeof header->name) == 0;
}

static int examine_file(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct search *search = arg;
    struct pyusdt_session_header header;
    uint64_t size;
    ssize_t got;
    int fd;

    if (name->kind != PYUSDT_FILE_SESSION)
        return 0;
    fd = pyusdt_file_open(search->dir, text, O_RDONLY, &size);
    got = fd < 0 ? fd : pread(fd, &header, sizeof header, 0);
    if (got < 0 && pyusdt_is_shortage(fd < 0 ? fd : -errno))
        search->failed = fd < 0 ? fd : -errno;
    if (fd < 0)
        return 0;
    search->found = got == (ssize_t)sizeof header && is_same_session(search->session, &header);
    search->slot = name->slot;
    close(fd);
    return search->found;
}

/* With the slot's lock, the session that was found; its generation and rings are ours from here on. */
static int resume_in_slot(const struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                          uint32_t slot, int fd)
{
    struct pyusdt_session_header header;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        !is_same_session(session, &header) || header.generation == 0 ||
        header.bufsize < PYUSDT_RING_MIN || header.bufsize > PYUSDT_RING_MAX ||
        (header.bufsize & (header.bufsize - 1)) != 0 || header.max_rings == 0 ||
        header.max_rings > PYUSDT_RINGS_MAX)
        return 0;
    rundir->fd = fd;
    rundir->resumed = true;
    rundir->header.slot = slot;
    rundir->header.state = PYUSDT_SESSION_STARTED;
    rundir->header.generation = header.generation;
    rundir->header.bufsize = header.bufsize;
    rundir->header.max_rings = header.max_rings;
    rundir->header.nwants = header.nwants;
    rundir->header.npaths = header.npaths;
    rundir->header.flags = header.flags & PYUSDT_SESSION_ALL;
    return 1;
}

int pyusdt_kept_resume(const struct pyusdt_session *session, struct pyusdt_session_dir *rundir,
                       struct pyusdt_error *error)
{
    const struct timespec pause = {0, 10000000};
    struct search search = {.session = session, .dir = rundir->in.dir};
    int r, fd = -EWOULDBLOCK;

    if (session->header.keep_ns == 0)
        return 0;
    r = pyusdt_rundir_each(rundir->in.dir, examine_file, &search);
    if (!search.found && (search.failed || (r < 0 && r != -E2BIG))) {
        r = search.failed ? search.failed : r;
        return pyusdt_error_set(error, r, "the sessions of run directory %s cannot be read: %s",
                                rundir->in.path, strerror(-r));
    }
    for (int i = 0; search.found && fd == -EWOULDBLOCK && i < CLAIM_TRIES; i++) {
        fd = pyusdt_slot_claim(rundir->in.dir, search.slot);
        if (fd == -EWOULDBLOCK)
            nanosleep(&pause, NULL);
    }
    if (!search.found)
        return 0;
    if (fd < 0)
        return pyusdt_error_set(error, -EBUSY, "session '%s' has a tracer", session->header.name);
    if (resume_in_slot(session, rundir, search.slot, fd))
        return 1;
    close(fd);
    return 0;
}

int pyusdt_kept_check_wants(const struct pyusdt_session *session,
                            const struct pyusdt_session_dir *rundir, struct pyusdt_error *error)
{
    size_t wants = session->nwants * sizeof *session->wants,
           paths = session->npaths * sizeof *session->paths;
    uint8_t *theirs = malloc(wants + paths + 1);
    if (!theirs)
        return pyusdt_error_set(error, -ENOMEM, "session '%s' cannot be read: %s",
                                session->header.name, strerror(ENOMEM));
    bool same = rundir->header.nwants == session->nwants &&
                rundir->header.npaths == session->npaths &&
                pread(rundir->fd, theirs, wants + paths, sizeof rundir->header) ==
                    (ssize_t)(wants + paths) &&
                memcmp(theirs, session->wants, wants) == 0 &&
                memcmp(theirs + wants, session->paths, paths) == 0;

    free(theirs);
    if (same)
        return 0;
    return pyusdt_error_set(
        error, -EINVAL,
        "session '%s' was left by another script: it wants other probes, arguments or values",
        session->header.name);
}

void pyusdt_kept_write_seen(struct pyusdt_session *session, uint64_t now)
{
    if (session->header.keep_ns == 0 || session->stopped || now < session->next_seen)
        return;
    session->next_seen = now + SEEN_NS;
    for (uint32_t i = 0; i < session->nrundirs; i++) {
        session->rundir[i]->header.seen = now;
        if (session->rundir[i]->started)
            pyusdt_session_dir_write_header(session->rundir[i]);
    }
}

int pyusdt_session_is_resumed(const struct pyusdt_session *session)
{
    return session->rundir[0]->resumed;
}

void pyusdt_session_mark_shown(struct pyusdt_session *session)
{
    if (session->header.keep_ns == 0 || session->forked)
        return;
    for (uint32_t i = 0; i < session->nliving; i++) {
        const struct pyusdt_target *target = session->targets[session->living[i]];
        for (uint32_t k = 0; k < target->rings; k++) {
            struct pyusdt_source *source = target->source[k];
            if (!source || !source->data || source->done == source->published)
                continue;
            source->done = source->published;
            atomic_store_explicit(&source->line->tail, source->done, memory_order_release);
            PYUSDT_HOOK(37);
        }
    }
}
