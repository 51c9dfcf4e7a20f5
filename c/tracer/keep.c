/*
 * Kept sessions: those that go on without their tracer, until it comes back or their time is over.
 *
 * In:  a session's configuration; the session files of the run directory.
 * Out: the session of that name that was left, with its slot and generation; or that there is none.
 * Always: the file's word counts for which session it is and how large its rings are, within bounds; what is wanted must be
 * what this tracer wants.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tracer/tracer.h"

#define SEEN_NS 1000000000u /* how often the file is told that its tracer is there */
#define CLAIM_TRIES 50      /* of 10 ms: somebody who looks whether the session lives holds its lock for a moment */

int pyusdt_keep_configure(struct pyusdt_session *session, const struct pyusdt_session_config *config,
                          struct pyusdt_error *error)
{
    struct pyusdt_session_header *header = &session->header;

    if (config && config->comm)
        snprintf(header->comm, sizeof header->comm, "%s", config->comm);
    if (!config || !config->keep || !*config->keep)
        return 0;
    if (strlen(config->keep) >= sizeof header->name)
        return pyusdt_error_set(error, -ENAMETOOLONG, "a kept session's name has at most %zu bytes", sizeof header->name - 1);
    snprintf(header->name, sizeof header->name, "%s", config->keep);
    header->keep_ns = config->keep_ns;
    header->keep_bytes = config->keep_bytes > header->bufsize ? config->keep_bytes : header->bufsize;
    header->seen = pyusdt_now();
    return 0;
}

struct search {
    struct pyusdt_session *session;
    bool found;
    uint32_t slot;
};

static bool is_it(const struct pyusdt_session *session, const struct pyusdt_session_header *header)
{
    return pyusdt_session_is_kept(header) && memcmp(header->name, session->header.name, sizeof header->name) == 0;
}

static int look(void *arg, const char *text, const struct pyusdt_name *name)
{
    struct search *search = arg;
    struct pyusdt_session_header header;
    uint64_t size;
    int fd;

    if (name->kind != PYUSDT_FILE_SESSION)
        return 0;
    fd = pyusdt_file_open(search->session->dir, text, O_RDONLY, &size);
    if (fd < 0)
        return 0;
    search->found = pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header && is_it(search->session, &header);
    search->slot = name->slot;
    close(fd);
    return search->found;
}

/* With the slot's lock, the session that was found; its generation and rings are ours from here on. */
static int take_over(struct pyusdt_session *session, uint32_t slot, int fd)
{
    struct pyusdt_session_header header;

    if (pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header || !is_it(session, &header) ||
        header.generation == 0 || header.bufsize < PYUSDT_RING_MIN || header.bufsize > PYUSDT_RING_MAX ||
        (header.bufsize & (header.bufsize - 1)) != 0 || header.max_rings == 0 || header.max_rings > PYUSDT_RINGS_MAX)
        return 0;
    session->fd = fd;
    session->resumed = true;
    session->header.slot = slot;
    session->header.state = PYUSDT_SESSION_STARTED;
    session->header.generation = header.generation;
    session->header.bufsize = header.bufsize;
    session->header.max_rings = header.max_rings;
    session->header.nwants = header.nwants;
    session->header.all = header.all;
    return 1;
}

int pyusdt_keep_resume(struct pyusdt_session *session, struct pyusdt_error *error)
{
    const struct timespec pause = {0, 10000000};
    struct search search = {.session = session};
    int fd = -EWOULDBLOCK;

    if (session->header.keep_ns == 0)
        return 0;
    pyusdt_rundir_each(session->dir, look, &search);
    for (int i = 0; search.found && fd == -EWOULDBLOCK && i < CLAIM_TRIES; i++) {
        fd = pyusdt_slot_claim(session->dir, search.slot);
        if (fd == -EWOULDBLOCK)
            nanosleep(&pause, NULL);
    }
    if (!search.found)
        return 0;
    if (fd < 0)
        return pyusdt_error_set(error, -EBUSY, "session '%s' has a tracer", session->header.name);
    if (take_over(session, search.slot, fd))
        return 1;
    close(fd);
    return 0;
}

int pyusdt_keep_check_wants(const struct pyusdt_session *session, struct pyusdt_error *error)
{
    size_t size = session->nwants * sizeof *session->wants;
    void *theirs = malloc(size + 1);
    bool same = theirs && session->header.nwants == session->nwants &&
                pread(session->fd, theirs, size, sizeof session->header) == (ssize_t)size &&
                memcmp(theirs, session->wants, size) == 0;

    free(theirs);
    if (same)
        return 0;
    return pyusdt_error_set(error, -EINVAL, "session '%s' was left by another script: it wants other probes or arguments",
                            session->header.name);
}

void pyusdt_keep_seen(struct pyusdt_session *session, uint64_t now)
{
    if (session->header.keep_ns == 0 || session->stopped || now < session->next_seen)
        return;
    session->next_seen = now + SEEN_NS;
    session->header.seen = now;
    pyusdt_session_write(session);
}

int pyusdt_session_resumed(const struct pyusdt_session *session)
{
    return session->resumed;
}

void pyusdt_session_leave(struct pyusdt_session *session)
{
    session->next_seen = 0;
    pyusdt_keep_seen(session, pyusdt_now());
    for (uint32_t i = 0; i < session->ntargets; i++)
        pyusdt_target_leave(session, session->targets[i]);
    close(session->fd); /* and with it the lock; the file stays */
    pyusdt_session_free(session);
}
