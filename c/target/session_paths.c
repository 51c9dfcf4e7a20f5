/*
 * The paths to values that the served sessions read (pyusdt.h, "values by paths").
 *
 * - They are written under the lock of the slow paths, when a session is served, and read by any
 *   thread: a copy is valid if `changes` is even and the same before and after.
 */
#define _GNU_SOURCE
#include <string.h>

#include "target/target.h"

int pyusdt_follows_paths;

static struct session_paths {
    _Atomic uint32_t changes; /* odd while the others change */
    _Atomic uint64_t generation;
    uint32_t n;
    struct pyusdt_path path[PYUSDT_PATHS_MAX];
} sessions[PYUSDT_MAX_SESSIONS];

void pyusdt_paths_set(unsigned number, uint64_t generation, const struct pyusdt_path *paths,
                      uint32_t n)
{
    struct session_paths *session = &sessions[number];
    uint32_t changes = atomic_load(&session->changes);

    if (n == 0 && atomic_load(&session->generation) == 0)
        return;
    atomic_store(&session->changes, changes + 1);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store(&session->generation, n != 0 ? generation : 0);
    session->n = n;
    memcpy(session->path, paths, n * sizeof *paths);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store(&session->changes, changes + 2);
}

uint32_t pyusdt_paths_args(unsigned number)
{
    return ((1u << sessions[number].n) - 1) << PYUSDT_PATH_ARG;
}

uint64_t pyusdt_session_paths_generation(unsigned number)
{
    return number < PYUSDT_MAX_SESSIONS
               ? atomic_load_explicit(&sessions[number].generation, memory_order_acquire)
               : 0;
}

int pyusdt_session_has_paths(unsigned number)
{
    uint64_t generation = pyusdt_session_paths_generation(number);

    return generation != 0 && atomic_load(&pyusdt_ctl_slot(number)->wanted) == generation;
}

unsigned pyusdt_session_paths(unsigned number, struct pyusdt_path *paths, unsigned room,
                              uint64_t *generation)
{
    struct session_paths *session = &sessions[number < PYUSDT_MAX_SESSIONS ? number : 0];
    uint32_t n, changes = atomic_load(&session->changes);

    *generation = atomic_load(&session->generation);
    n = session->n < room ? session->n : room;
    memcpy(paths, session->path, n * sizeof *paths);
    atomic_thread_fence(memory_order_seq_cst);
    if (number >= PYUSDT_MAX_SESSIONS || changes % 2 != 0 ||
        atomic_load(&session->changes) != changes)
        return (unsigned)(*generation = 0);
    return n;
}
