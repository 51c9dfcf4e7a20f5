/*
 * The bell (docs/internals/ring.md, "Wakeup"): a tracer that changes what it wants, twice, and rings, killed before any access;
 * a watcher that reads the bell, looks, and waits on it as a futex does; who stops the watcher, by the bell, too.
 *
 * One line is one access to what they share. The watcher's time-out comes where nobody else can do anything.
 *
 * Checked: the time-out is needed by nobody but whose tracer was killed before it rang, and then it is enough: all is seen at last,
 * and the thread ends when it is told to. Each MUTANT_… breaks one rule, and must be found.
 */
byte wanted; /* what the tracer wants of the probes */
byte bell;
bool sleeping; /* in the kernel, on the bell */
bool stops, ended;

/* What the model knows. */
byte seen;  /* by the watcher, at its last look */
bool killed, done;

/* Both change the bell before they wake. */
inline ring()
{
#ifndef MUTANT_WOKEN_FIRST
    atomic { bell++ };
    atomic { sleeping = false }
#else
    atomic { sleeping = false };
    atomic { bell++ }
#endif
}

active proctype tracer()
{
    byte turn = 0;

    do
    :: turn < 2 ->
        if
        :: wanted++
        :: killed = true; goto over
        fi;
        if
        :: skip
        :: killed = true; goto over
        fi;
#ifndef MUTANT_RUNG_BEFORE
        ring();
#endif
        turn++
    :: else -> break
    od;
over:
    done = true
}

#ifdef MUTANT_RUNG_BEFORE
active proctype hasty()
{
    ring(); /* before the tracer has changed anything */
    ring()
}
#endif

/* When all has been seen: else the bell that it rings would make up for one that was lost. */
active proctype stopper()
{
    if
    :: done && seen == wanted ->
        stops = true;
#ifndef MUTANT_STOP_WITHOUT_BELL
        ring()
#endif
    fi
}

active proctype watcher()
{
    byte read;

    do
    :: true ->
#ifndef MUTANT_LOOK_BEFORE_READ
        read = bell;
        if :: stops -> break :: else fi;
        seen = wanted;
#else
        if :: stops -> break :: else fi;
        seen = wanted;
        read = bell;
#endif
        /* FUTEX_WAIT compares and sleeps in one step */
#ifndef MUTANT_NOT_COMPARED
        atomic { if :: bell == read -> sleeping = true :: else fi };
#else
        sleeping = true;
#endif
        do
        :: !sleeping -> break
#ifndef MUTANT_NO_TIMEOUT
        :: atomic { timeout && sleeping -> assert(killed); sleeping = false; break } /* nobody else can do anything */
#endif
        od
    od;
    ended = true
}

#ifdef MUTANT_NO_TIMEOUT
active proctype judge()
{
    timeout;
    assert(ended)
}
#endif
