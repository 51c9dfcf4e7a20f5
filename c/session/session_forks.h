/*
 * What becomes of open sessions when the tracer forks.
 *
 * A forked child has its parent's sessions as well, and their locks: as long as it has those, a session would seem to live
 * whose tracer was killed. It gives them up at once, and leaves alone all that is shared.
 */
#ifndef PYUSDT_SESSION_SESSION_FORKS_H
#define PYUSDT_SESSION_SESSION_FORKS_H

struct pyusdt_error;
struct pyusdt_session;

#pragma GCC visibility push(hidden)

void pyusdt_forks_lock(
    void); /* no thread forks until pyusdt_forks_unlock(): held while a lock belongs to no session yet */
void pyusdt_forks_unlock(void);

/* From here on a forked child knows that it has the session from its parent. 0 or -errno. */
int pyusdt_session_register(struct pyusdt_session *session);
void pyusdt_session_unregister(const struct pyusdt_session *session);

/* -ECHILD, with its message. */
int pyusdt_session_forked_error(struct pyusdt_error *error);

#pragma GCC visibility pop

#endif
