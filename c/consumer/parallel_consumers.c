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
    struct pyusdt_parallel *parallel;
    struct pyusdt_consumer *consumer;
    struct pyusdt_share_part part; /* of the round */
    int n;                         /* events of the last part */
    pthread_t thread;              /* except of the first, which is the caller's */
};

struct pyusdt_parallel {
    struct pyusdt_session *session;
    struct member member[PYUSDT_PARALLEL_MAX];
    uint32_t n, threads;
    pid_t pid; /* the process that has these threads: a forked child has none */
    pthread_mutex_t lock;
    pthread_cond_t go, done; /* a round has begun; all have done their part of it */
    uint64_t round;
    uint32_t working;
    bool over;
};

/* ---- a round: all shares at once ---- */

static void do_part(struct member *member)
{
    member->n =
        pyusdt_consumer_deliver_share(member->consumer, member->parallel->session, &member->part);
}

static void *run_thread(void *arg)
{
    struct member *member = arg;
    struct pyusdt_parallel *parallel = member->parallel;

    pthread_mutex_lock(&parallel->lock);
    for (uint64_t done = 0; !parallel->over;) {
        if (parallel->round == done) {
            pthread_cond_wait(&parallel->go, &parallel->lock);
            continue;
        }
        done = parallel->round;
        pthread_mutex_unlock(&parallel->lock);
        do_part(member);
        pthread_mutex_lock(&parallel->lock);
        if (--parallel->working == 0)
            pthread_cond_signal(&parallel->done);
    }
    pthread_mutex_unlock(&parallel->lock);
    return NULL;
}

static void run_concurrent_round(struct pyusdt_parallel *parallel)
{
    pyusdt_session_set_concurrent(parallel->session, true);
    pthread_mutex_lock(&parallel->lock);
    parallel->round++;
    parallel->working = parallel->threads;
    pthread_cond_broadcast(&parallel->go);
    pthread_mutex_unlock(&parallel->lock);
    do_part(&parallel->member[0]);
    pthread_mutex_lock(&parallel->lock);
    while (parallel->working > 0)
        pthread_cond_wait(&parallel->done, &parallel->lock);
    pthread_mutex_unlock(&parallel->lock);
    pyusdt_session_set_concurrent(parallel->session, false);
}

/* By the caller's thread alone. */
static void run_serial_round(struct pyusdt_parallel *parallel)
{
    for (uint32_t i = 0; i < parallel->n; i++)
        do_part(&parallel->member[i]);
}

/* ---- a poll ---- */

static bool is_round_worthwhile(const struct pyusdt_parallel *parallel)
{
    uint64_t bytes = 0;

    for (uint32_t i = 1; i < parallel->n; i++) /* what the others would take */
        bytes += pyusdt_session_unread_bytes(parallel->session, i);
    return bytes >= WORTH;
}

static bool has_deferred(const struct pyusdt_parallel *parallel)
{
    for (uint32_t i = 0; i < parallel->n; i++)
        if (pyusdt_session_has_deferred(parallel->session, i))
            return true;
    return false;
}

static int run_round(struct pyusdt_parallel *parallel, uint64_t until, int max, bool concurrent)
{
    int n = 0;

    for (uint32_t i = 0; i < parallel->n; i++)
        parallel->member[i].part = (struct pyusdt_share_part){i, until, max, concurrent};
    if (concurrent)
        run_concurrent_round(parallel);
    else
        run_serial_round(parallel);
    for (uint32_t i = 0; i < parallel->n; i++)
        n += parallel->member[i].n;
    return n;
}

static int deliver(void *arg, struct pyusdt_session *session, uint64_t until, int max, bool *stop)
{
    struct pyusdt_parallel *parallel = arg;
    int n;

    (void)stop; /* no clause of theirs ends it */
    if (!is_round_worthwhile(parallel)) {
        n = run_round(parallel, until, max, false);
    } else {
        n = run_round(parallel, until, max, true);
        while (has_deferred(
            parallel)) { /* for something that only one may do: it is done, then all go on */
            pyusdt_session_refresh(session);
            if (n >= max)
                break;
            n += run_round(parallel, until, BY_ONE, false);
            n += run_round(parallel, until, max, true);
        }
    }
    for (uint32_t i = 1; i < parallel->n; i++)
        pyusdt_consumer_move_records(parallel->member[i].consumer);
    return n;
}

int pyusdt_parallel_poll(struct pyusdt_parallel *parallel, struct pyusdt_session *session,
                         uint64_t until_ns, int max_events)
{
    return parallel->pid == getpid()
               ? pyusdt_session_poll_by(session, until_ns, max_events, deliver, parallel)
               : 0;
}

/* A pyusdt_consumer_poll_fn. */
static int poll_of_first(void *of, struct pyusdt_session *session, uint64_t until, int max)
{
    return pyusdt_parallel_poll(of, session, until, max);
}

/* ---- its life ---- */

static int start_threads(struct pyusdt_parallel *parallel)
{
    sigset_t all, before;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the caller's threads */
    while (r == 0 && parallel->threads < parallel->n - 1) {
        struct member *member = &parallel->member[parallel->threads + 1];
        r = pthread_create(&member->thread, NULL, run_thread, member);
        parallel->threads += r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -r;
}

int pyusdt_parallel_new(struct pyusdt_session *session, struct pyusdt_consumer *const *consumers,
                        uint32_t n, struct pyusdt_parallel **out, struct pyusdt_error *err)
{
    struct pyusdt_parallel *parallel;
    int r;

    if (n == 0 || n > PYUSDT_PARALLEL_MAX)
        return pyusdt_error_set(err, -EINVAL, "a session has 1 to %d consumers",
                                PYUSDT_PARALLEL_MAX);
    if (!(parallel = calloc(1, sizeof *parallel)))
        return pyusdt_error_set(err, -ENOMEM, "no memory for several consumers");
    parallel->session = session;
    parallel->n = n;
    parallel->pid = getpid();
    pthread_mutex_init(&parallel->lock, NULL);
    pthread_cond_init(&parallel->go, NULL);
    pthread_cond_init(&parallel->done, NULL);
    for (uint32_t i = 0; i < n; i++)
        parallel->member[i] = (struct member){.parallel = parallel, .consumer = consumers[i]};
    if ((r = pyusdt_session_make_shares(session, n)) != 0 || (r = start_threads(parallel)) != 0) {
        pyusdt_parallel_free(parallel);
        return pyusdt_error_set(err, r, "several consumers could not be started");
    }
    for (uint32_t i = 1; i < n; i++)
        pyusdt_consumer_share_ids(consumers[i], consumers[0]);
    pyusdt_consumer_set_poll(consumers[0], poll_of_first, parallel);
    *out = parallel;
    return 0;
}

static void end_threads(struct pyusdt_parallel *parallel)
{
    pthread_mutex_lock(&parallel->lock);
    parallel->over = true;
    pthread_cond_broadcast(&parallel->go);
    pthread_mutex_unlock(&parallel->lock);
    for (uint32_t i = 1; i <= parallel->threads; i++)
        pthread_join(parallel->member[i].thread, NULL);
    pthread_cond_destroy(&parallel->go);
    pthread_cond_destroy(&parallel->done);
    pthread_mutex_destroy(&parallel->lock);
}

void pyusdt_parallel_free(struct pyusdt_parallel *parallel)
{
    if (!parallel)
        return;
    if (parallel->pid == getpid())
        end_threads(parallel);
    pyusdt_consumer_set_poll(parallel->member[0].consumer, NULL, NULL);
    free(parallel);
}
