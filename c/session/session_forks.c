#define _GNU_SOURCE
#include "session/session_forks.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "session/session_state.h"

static pthread_mutex_t forks = PTHREAD_MUTEX_INITIALIZER;
static struct pyusdt_session *sessions; /* all that are open, under the lock */

void pyusdt_forks_wait(void)
{
    pthread_mutex_lock(&forks);
}

void pyusdt_forks_go(void)
{
    pthread_mutex_unlock(&forks);
}

static void forked(void)
{
    for (struct pyusdt_session *session = sessions; session; session = session->next) {
        session->forked = true;
        for (uint32_t i = 0; i < session->nbases; i++) {
            struct pyusdt_base *base =
                session->base[i]; /* NULL: another thread was just adding it */
            if (base && base->fd >= 0) {
                close(base->fd);
                base->fd = -1;
            }
        }
    }
    pthread_mutex_unlock(&forks);
}

int pyusdt_session_is_forked(struct pyusdt_error *error)
{
    return pyusdt_error_set(error, -ECHILD, "the session is of the process that forked this one");
}

static int watched; /* 0 or -errno */

static void watch_forks(void)
{
    watched = -pthread_atfork(pyusdt_forks_wait, pyusdt_forks_go, forked);
}

int pyusdt_session_enlist(struct pyusdt_session *session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, watch_forks);
    if (watched != 0)
        return watched;
    pyusdt_forks_wait();
    session->next = sessions;
    sessions = session;
    pyusdt_forks_go();
    return 0;
}

void pyusdt_session_strike_off(const struct pyusdt_session *session)
{
    struct pyusdt_session **at;

    pyusdt_forks_wait();
    for (at = &sessions; *at && *at != session; at = &(*at)->next)
        ;
    if (*at)
        *at = session->next;
    pyusdt_forks_go();
}
