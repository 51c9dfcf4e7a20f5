/* Open sessions in a forked child: see session_forks.h. */
#define _GNU_SOURCE
#include "session/session_forks.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "session/session_state.h"

static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;
static struct pyusdt_session *sessions; /* all that are open, under the lock */

void pyusdt_forks_lock(void)
{
    pthread_mutex_lock(&forks);
}

void pyusdt_forks_unlock(void)
{
    pthread_mutex_unlock(&forks);
}

static void drop_sessions_of_parent(void)
{
    for (struct pyusdt_session *session = sessions; session; session = session->next) {
        session->forked = true;
        for (uint32_t i = 0; i < session->nrundirs; i++) {
            struct pyusdt_session_dir *rundir =
                session->rundir[i]; /* NULL: another thread was just adding it */
            if (rundir && rundir->fd >= 0) {
                close(rundir->fd);
                rundir->fd = -1;
            }
        }
    }
    pthread_mutex_unlock(&forks);
}

int pyusdt_session_forked_error(struct pyusdt_error *error)
{
    return pyusdt_error_set(error, -ECHILD, "the session is of the process that forked this one");
}

static int watch_error; /* 0 or -errno */

static void watch_forks(void)
{
    watch_error = -pthread_atfork(pyusdt_forks_lock, pyusdt_forks_unlock, drop_sessions_of_parent);
}

int pyusdt_session_register(struct pyusdt_session *session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    if (watch_error != 0)
        return watch_error;
    pyusdt_forks_lock();
    session->next = sessions;
    sessions = session;
    pyusdt_forks_unlock();
    return 0;
}

void pyusdt_session_unregister(const struct pyusdt_session *session)
{
    struct pyusdt_session **at;

    pyusdt_forks_lock();
    for (at = &sessions; *at && *at != session; at = &(*at)->next)
        ;
    if (*at)
        *at = session->next;
    pyusdt_forks_unlock();
}
