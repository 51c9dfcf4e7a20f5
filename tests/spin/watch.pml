/*
 * The wakeup word (docs/internals/ring.md, "Wakeup"): a tracer that changes its demand twice and wakes the watcher, killed before
 * any access; a watcher that reads the word, checks, and waits on it as a futex does; a thread that stops the watcher by the word.
 *
 * One line is one access to what they share. The watcher's time-out comes when no other process can do anything.
 *
 * Checked: the time-out is only needed if a tracer was killed before its wakeup, and then it is enough: everything is seen in the
 * end, and the thread stops when it must. Each MUTANT_… breaks one rule, and must be found.
 */
byte wanted; /* what the tracer wants of the probes */
byte wakeup;
bool sleeping; /* in the kernel, on the word */
bool stops, ended;

/* What the model knows. */
byte seen;  /* by the watcher, at its last look */
bool killed, done;

/* Both change the word before they wake. */
inline ring()
{
#ifndef MUTANT_WOKEN_FIRST
    atomic { wakeup++ };
    atomic { sleeping = false }
#else
    atomic { sleeping = false };
    atomic { wakeup++ }
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

/* After everything has been seen: otherwise its wakeup would make up for a lost one. */
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
        read = wakeup;
        if :: stops -> break :: else fi;
        seen = wanted;
#else
        if :: stops -> break :: else fi;
        seen = wanted;
        read = wakeup;
#endif
        /* FUTEX_WAIT compares and sleeps in one step */
#ifndef MUTANT_NOT_COMPARED
        atomic { if :: wakeup == read -> sleeping = true :: else fi };
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
