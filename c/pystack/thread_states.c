/* See thread_states.h. */
#define _GNU_SOURCE
#include "pystack/thread_states.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    HEAD = 256, /* bytes of a stat file: the id, the name in parentheses, the letter */
    PATH = 64,
};

struct open_file {
    pid_t tid;
    int fd;
};

struct pyusdt_thread_states {
    pid_t pid;
    size_t limit, nfiles;
    struct open_file *files; /* in the order of the last read, then those of this one: 2 * limit */
};

struct pyusdt_thread_states *pyusdt_thread_states_new(pid_t pid, size_t limit)
{
    struct pyusdt_thread_states *states = calloc(1, sizeof *states);

    if (!states)
        return NULL;
    states->pid = pid;
    states->limit = limit;
    states->files = calloc(2 * limit + 1, sizeof *states->files);
    if (states->files)
        return states;
    free(states);
    return NULL;
}

void pyusdt_thread_states_free(struct pyusdt_thread_states *states)
{
    if (!states)
        return;
    for (size_t i = 0; i < states->nfiles; i++)
        close(states->files[i].fd);
    free(states->files);
    free(states);
}

static int open_stat(const struct pyusdt_thread_states *states, pid_t tid)
{
    char path[PATH];

    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)states->pid, (int)tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The letter behind the last parenthesis: the name may hold anything.  0: the thread has ended. */
static char read_letter(int fd)
{
    char text[HEAD];
    ssize_t got = fd < 0 ? -1 : pread(fd, text, sizeof text, 0);
    const char *end = got > 0 ? memrchr(text, ')', (size_t)got) : NULL;

    return end && end + 2 < text + got ? end[2] : 0;
}

/* Takes the thread's file out of the old ones, from `*from` on; -1: there is none. */
static int take_file(struct open_file *old, size_t n, size_t *from, pid_t tid)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = (*from + k) % n;
        int fd = old[i].fd;

        if (old[i].tid != tid || fd < 0)
            continue;
        old[i].fd = -1;
        *from = i + 1;
        return fd;
    }
    return -1;
}

/* The letter, by the thread's old file if that still is one; the file that stays open is kept in states->files[nfiles...]. */
static char read_state(struct pyusdt_thread_states *states, pid_t tid, int fd, size_t *kept)
{
    char letter = read_letter(fd);

    if (!letter) {
        if (fd >= 0)
            close(fd);
        fd = open_stat(states, tid);
        letter = read_letter(fd);
    }
    if (letter && *kept < states->limit)
        states->files[states->nfiles + (*kept)++] = (struct open_file){tid, fd};
    else if (fd >= 0)
        close(fd);
    return letter;
}

void pyusdt_thread_states_read(struct pyusdt_thread_states *states, const pid_t *tids, size_t n,
                               char *letters)
{
    size_t old = states->nfiles, kept = 0, from = 0;

    for (size_t i = 0; i < n; i++)
        letters[i] =
            read_state(states, tids[i], take_file(states->files, old, &from, tids[i]), &kept);
    for (size_t i = 0; i < old; i++)
        if (states->files[i].fd >= 0)
            close(states->files[i].fd);
    memmove(states->files, states->files + old, kept * sizeof *states->files);
    states->nfiles = kept;
}
