/* See parallel_consumers.h. */
#define _GNU_SOURCE
#include "consumer/parallel_consumers.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "session/ring_merge.h"

#define WORTH \
    (128u << 10)    /* bytes of events that are worth waking others up for: some 0.2 ms of work */
#define BY_ONE 1024 /* events that one consumer takes by itself when the others had to leave one */

struct member {
    struct pyusdt_crew *crew;
    struct pyusdt_consumer *consumer;
    struct pyusdt_part part; /* of the round */
    int n;                   /* events of the last part */
    pthread_t thread;        /* but for the first, who is the caller */
};

struct pyusdt_crew {
    struct pyusdt_session *session;
    struct member member[PYUSDT_CREW_MOST];
    uint32_t n, threads;
    pid_t pid; /* whose threads these are: a forked child has none */
    pthread_mutex_t lock;
    pthread_cond_t go, done; /* a round has begun; all have done their part of it */
    uint64_t round;
    uint32_t working;
    bool over;
};

/* ---- a round: all shares at once ---- */

static void do_part(struct member *member)
{
    member->n = pyusdt_consumer_deliver(member->consumer, member->crew->session, &member->part);
}

static void *work(void *arg)
{
    struct member *member = arg;
    struct pyusdt_crew *crew = member->crew;

    pthread_mutex_lock(&crew->lock);
    for (uint64_t done = 0; !crew->over;) {
        if (crew->round == done) {
            pthread_cond_wait(&crew->go, &crew->lock);
            continue;
        }
        done = crew->round;
        pthread_mutex_unlock(&crew->lock);
        do_part(member);
        pthread_mutex_lock(&crew->lock);
        if (--crew->working == 0)
            pthread_cond_signal(&crew->done);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static void round_apart(struct pyusdt_crew *crew)
{
    pyusdt_session_apart(crew->session, true);
    pthread_mutex_lock(&crew->lock);
    crew->round++;
    crew->working = crew->threads;
    pthread_cond_broadcast(&crew->go);
    pthread_mutex_unlock(&crew->lock);
    do_part(&crew->member[0]);
    pthread_mutex_lock(&crew->lock);
    while (crew->working > 0)
        pthread_cond_wait(&crew->done, &crew->lock);
    pthread_mutex_unlock(&crew->lock);
    pyusdt_session_apart(crew->session, false);
}

/* By the caller's thread alone. */
static void round_alone(struct pyusdt_crew *crew)
{
    for (uint32_t i = 0; i < crew->n; i++)
        do_part(&crew->member[i]);
}

/* ---- a poll ---- */

static bool worth_a_round(const struct pyusdt_crew *crew)
{
    uint64_t bytes = 0;

    for (uint32_t i = 1; i < crew->n; i++) /* what the others would take */
        bytes += pyusdt_session_waiting(crew->session, i);
    return bytes >= WORTH;
}

static bool has_left(const struct pyusdt_crew *crew)
{
    for (uint32_t i = 0; i < crew->n; i++)
        if (pyusdt_session_left(crew->session, i))
            return true;
    return false;
}

static int take(struct pyusdt_crew *crew, uint64_t until, int max, bool apart)
{
    int n = 0;

    for (uint32_t i = 0; i < crew->n; i++)
        crew->member[i].part = (struct pyusdt_part){i, until, max, apart};
    if (apart)
        round_apart(crew);
    else
        round_alone(crew);
    for (uint32_t i = 0; i < crew->n; i++)
        n += crew->member[i].n;
    return n;
}

static int deliver(void *arg, struct pyusdt_session *session, uint64_t until, int max, bool *stop)
{
    struct pyusdt_crew *crew = arg;
    int n;

    (void)stop; /* no clause of theirs ends it */
    if (!worth_a_round(crew)) {
        n = take(crew, until, max, false);
    } else {
        n = take(crew, until, max, true);
        while (
            has_left(crew)) { /* for something that only one may do: it is done, then all go on */
            pyusdt_session_refresh(session);
            if (n >= max)
                break;
            n += take(crew, until, BY_ONE, false);
            n += take(crew, until, max, true);
        }
    }
    for (uint32_t i = 1; i < crew->n; i++)
        pyusdt_consumer_hand_over(crew->member[i].consumer);
    return n;
}

int pyusdt_crew_poll(struct pyusdt_crew *crew, struct pyusdt_session *session, uint64_t until_ns,
                     int max_events)
{
    return crew->pid == getpid()
               ? pyusdt_session_poll_by(session, until_ns, max_events, deliver, crew)
               : 0;
}

/* A pyusdt_consumer_poll_fn. */
static int poll_of_first(void *of, struct pyusdt_session *session, uint64_t until, int max)
{
    return pyusdt_crew_poll(of, session, until, max);
}

/* ---- its life ---- */

static int start_threads(struct pyusdt_crew *crew)
{
    sigset_t all, before;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the caller's threads */
    while (r == 0 && crew->threads < crew->n - 1) {
        struct member *member = &crew->member[crew->threads + 1];
        r = pthread_create(&member->thread, NULL, work, member);
        crew->threads += r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

int pyusdt_crew_new(struct pyusdt_session *session, struct pyusdt_consumer *const *consumers,
                    uint32_t n, struct pyusdt_crew **out, struct pyusdt_error *err)
{
    struct pyusdt_crew *crew;
    int r;

    if (n == 0 || n > PYUSDT_CREW_MOST)
        return pyusdt_error_set(err, -EINVAL, "a session has 1 to %d consumers", PYUSDT_CREW_MOST);
    if (!(crew = calloc(1, sizeof *crew)))
        return pyusdt_error_set(err, -ENOMEM, "no memory for several consumers");
    crew->session = session;
    crew->n = n;
    crew->pid = getpid();
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->go, NULL);
    pthread_cond_init(&crew->done, NULL);
    for (uint32_t i = 0; i < n; i++)
        crew->member[i] = (struct member){.crew = crew, .consumer = consumers[i]};
    if ((r = pyusdt_session_divide(session, n)) != 0 || (r = start_threads(crew)) != 0) {
        pyusdt_crew_free(crew);
        return pyusdt_error_set(err, r, "several consumers could not be started");
    }
    for (uint32_t i = 1; i < n; i++)
        pyusdt_consumer_follow(consumers[i], consumers[0]);
    pyusdt_consumer_lead(consumers[0], poll_of_first, crew);
    *out = crew;
    return 0;
}

static void end_threads(struct pyusdt_crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    crew->over = true;
    pthread_cond_broadcast(&crew->go);
    pthread_mutex_unlock(&crew->lock);
    for (uint32_t i = 1; i <= crew->threads; i++)
        pthread_join(crew->member[i].thread, NULL);
    pthread_cond_destroy(&crew->go);
    pthread_cond_destroy(&crew->done);
    pthread_mutex_destroy(&crew->lock);
}

void pyusdt_crew_free(struct pyusdt_crew *crew)
{
    if (!crew)
        return;
    if (crew->pid == getpid())
        end_threads(crew);
    pyusdt_consumer_lead(crew->member[0].consumer, NULL, NULL);
    free(crew);
}
