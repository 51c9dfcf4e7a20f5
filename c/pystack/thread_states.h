/*
 * What the threads of a process do, by the kernel's word: the letter of /proc/PID/task/TID/stat.
 *
 * - The files stay open, since to open one costs more than to read it; beyond `limit` files they are
 *   opened for each read.
 * - A file belongs to one thread for ever: a later thread with the same id is never mistaken for it.
 * - The caller verifies that the process is still the one that it means.
 */
#ifndef PYUSDT_PYSTACK_THREAD_STATES_H
#define PYUSDT_PYSTACK_THREAD_STATES_H

#include <stddef.h>
#include <sys/types.h>

struct pyusdt_thread_states;

#pragma GCC visibility push(hidden)

/* limit: of the files that stay open.  NULL: no memory. */
struct pyusdt_thread_states *pyusdt_thread_states_new(pid_t pid, size_t limit);
void pyusdt_thread_states_free(struct pyusdt_thread_states *states);

/* letters[i]: the state of tids[i]; R: it runs, or would if there were a processor for it; 0: it is not there.  Files of threads that
 * are not asked for are closed. */
void pyusdt_thread_states_read(struct pyusdt_thread_states *states, const pid_t *tids, size_t n,
                               char *letters);

#pragma GCC visibility pop

#endif
