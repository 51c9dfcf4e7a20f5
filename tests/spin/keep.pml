/*
 * A kept session (docs/internals/ring.md): one producer, whose process ends or is killed; tracers one after the other, each killed
 * before any access or leaving in order; somebody who looks whether the session lives, as every process and tracer does.
 *
 * One line is one access to what they share. The ring holds numbers; what a tracer prints cannot be taken back.
 *
 * Checked: at the end every event was printed, or was dropped; one that was printed twice was counted by who printed it the
 * second time; nobody undoes the session, and there is one tracer at a time. Each MUTANT_… breaks one rule, and must be found.
 */
#define CELLS 2
#define EVENTS 4

/* The session file, the ring and its line. */
byte locked;           /* 0, or a tracer */
bool file = true;      /* ring and area are there */
byte cell[CELLS];
byte head, tail, read;

/* What the model knows. */
bool producing = true, undone;
byte printed[EVENTS + 1]; /* how often */
byte counted[EVENTS + 1]; /* how often as one that may have been printed before */
bool dropped[EVENTS + 1];
byte living, ended;       /* tracers at this moment, and those that were */

active proctype producer()
{
    byte n = 1, mine;

    do
    :: n > EVENTS -> break
    :: break /* killed, or ended */
    :: n <= EVENTS ->
        if
        :: mine - tail < CELLS ->
            cell[mine % CELLS] = n
            if :: skip :: goto dead fi
            mine++
            head = mine
        :: else -> dropped[n] = true
        fi
        n++
    od
dead:
    atomic { if :: n <= EVENTS -> dropped[n] = true :: else fi } /* the unfinished one, and those never fired: */
    do
    :: n < EVENTS -> atomic { n++; dropped[n] = true }
    :: else -> break
    od
    producing = false
}

/* May be killed wherever it may go to `dead`. last: it is not, and reads to the end. */
inline or_dead()
{
    if :: skip :: !last -> goto dead fi
}

inline come()
{
    atomic {
        (locked == 0 || !file);
        if
        :: file -> locked = me; living++; assert(living == 1)
        :: else -> goto gone /* it is over: all was read */
        fi
    }
    at = tail
    before = read
}

/* Takes some of what there is into its own memory, says in the ring how far, prints it. */
inline poll()
{
    was_dead = !producing /* the process first, then its ring */
    end = head
    if :: end > at + 1 -> end = at + 1 :: true fi
#ifdef MUTANT_TOLD_BEFORE_PRINTED
    tail = end
    or_dead()
#endif
#ifdef MUTANT_READ_GOES_BACK
    if :: end != at -> read = end :: else fi
    or_dead()
#else
#ifndef MUTANT_READ_AFTER_PRINTED
    if :: end > before && end != at -> read = end :: else fi
    or_dead()
#endif
#endif
#ifdef MUTANT_FINISHED_BEFORE_SHOWN
    if :: was_dead && end == head -> file = false; or_dead() :: else fi
#endif
    do
    :: at < end ->
        atomic {
            seen = cell[at % CELLS]
            assert(!dropped[seen])
            printed[seen]++
            if :: at < before -> counted[seen]++ :: else fi
            at++
        }
        or_dead()
    :: else -> break
    od
#ifdef MUTANT_READ_AFTER_PRINTED
    read = end
    or_dead()
#endif
}

inline shown()
{
    tail = at
    or_dead()
}

proctype tracer(byte me; bool last)
{
    byte at, before, end, seen;
    bool was_dead;

    come()
    do
    :: file ->
        poll()
        shown()
        if
        :: was_dead && file && at == head && tail == at -> file = false
        :: else
        fi
    :: file && !last -> break /* leaves */
    :: !file -> break
    od
dead:
    atomic { living--; locked = 0 }
gone:
    ended++
}

/* A producer's check, a tracer that sweeps: the flock is free, but the session is kept. */
active proctype looker()
{
    bool got;

    atomic { if :: locked == 0 -> locked = 99; got = true :: else fi }
    if
    :: got ->
#ifdef MUTANT_UNDONE_WITHOUT_A_LOOK
        file = false
#endif
        locked = 0
    :: else
    fi
}

init
{
    byte n;

    atomic { run tracer(1, false); run tracer(2, false) }
    (ended == 2);
    run tracer(3, true);
    (ended == 3);
    for (n : 1 .. EVENTS) {
        assert(dropped[n] || printed[n] >= 1)
        assert(printed[n] <= 1 + counted[n])
    }
}
