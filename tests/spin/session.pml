/*
 * A session slot of one process (docs/internals/ring.md, "Sessions"): the process joins the session that it finds when it
 * publishes itself, then two producers fire; the first tracer attaches and leaves in order, or is killed at any step; a
 * second may claim the same slot at any time after. One ring; what lies in it is ring.pml's business, here it matters
 * who may touch its memory.
 *
 * Checked: nobody writes into a ring whose memory was given back, or that is another session's; a session that has
 * attached stays attached; a dead session's bits go with the next firing; nobody waits for ever. Each MUTANT_… breaks
 * one rule, and must be found.
 */
#define NONE 0 /* generations: the first tracer's is 1, the second's 2 */

/* Shared: the session file … */
byte generation;      /* that it holds */
byte locked;          /* its flock: 0, a generation, or UNDOING while a target or a sweeper cleans up */
#define UNDOING 9
/* … and the control file. */
byte wanted;
bool word;

/* The target's private memory. */
byte served;          /* generation that producers may write for */
byte opened;          /* generation that area and rings were made for */
byte busy;            /* 0, a producer, or CLOSED. (In shared memory, but of the area: replaced with it.) */
#define CLOSED 9
bool lock;            /* of the slow paths */
byte nrings;

/* What the model knows. */
byte memory;          /* generation that the ring's memory belongs to; NONE: given back */
byte attached;        /* generation of the living session that has finished attaching */
byte done, settled;   /* producers, tracers */
bool killed;          /* the first tracer */

/* The flock of a session is the proof of its life. */
#define ALIVE(g) (locked == (g) && generation == (g))

/* Under the lock, and the session file's. */
inline undo(g)
{
#ifndef MUTANT_UNDONE_WITHOUT_FLOCK
    atomic {
        got = (locked == NONE);
        if
        :: got -> locked = UNDOING
        :: else
        fi
    }
#else
    got = true;
#endif
    if
    :: got ->
        atomic { hit = (wanted == g); if :: hit -> wanted = NONE :: else fi };
        if
        :: hit -> word = false
        :: else
        fi;
        atomic { if :: locked == UNDOING -> locked = NONE :: else fi }
    :: else /* somebody has the slot: he puts it right */
    fi;
    got = false;
    hit = false
}

/* Under the lock. closed: nobody is inside, memory and files are gone. */
inline slot_close()
{
    if
    :: opened == NONE -> closed = true
    :: else ->
        served = NONE;
#ifdef MUTANT_RINGS_NOT_HELD
        closed = true;
#else
        atomic { if :: nrings == 0 || busy == 0 || busy == CLOSED -> busy = CLOSED; closed = true :: else -> closed = false fi }
#endif
        if
        :: closed ->
            atomic { nrings = 0; opened = NONE };
            memory = NONE
        :: else
        fi
    fi
}

inline slot_open()
{
    atomic { !lock -> lock = true }; /* c/target/publish.c waits a bounded time only; then the event is lost, and counted */
    w = wanted;
    if
    :: w == NONE -> undo(NONE) /* a stray bit */
    :: w != NONE && w == served
    :: w != NONE && w != served ->
        slot_close();
        if
        :: !closed
        :: closed && !ALIVE(w) -> undo(w)
        :: closed && ALIVE(w) ->
            opened = w;
            busy = 0; /* a new area, at the old address */
            memory = w; /* its ring */
            nrings = 1;
            served = w
        fi
    fi;
    closed = false;
    lock = false
}

inline slot_check()
{
    atomic { !lock -> lock = true };
    w = opened;
    if
    :: w != NONE && !ALIVE(w) ->
        undo(w);
        slot_close()
    :: else
    fi;
    closed = false;
    lock = false
}

inline take()
{
    atomic { mine = (busy == 0); if :: mine -> busy = _pid :: else fi }
}

inline fire()
{
    if
    :: !word
    :: else ->
        w = wanted;
        if
        :: w != NONE && w == served
        :: else -> slot_open()
        fi;
        if
        :: w == NONE || w != served
        :: else ->
#ifdef MUTANT_CHECKED_BEFORE_TAKEN
            hit = (served != NONE);
            hit = hit && (nrings > 0);
            take();
#else
            take();
            hit = (served != NONE);
            hit = hit && (nrings > 0);
#endif
            if
            :: mine && hit ->
                assert(memory != NONE && memory == opened);
                busy = 0;
                slot_check()
            :: mine && !hit -> busy = 0
            :: else /* dropped */
            fi
        fi
    fi;
    atomic { mine = false; hit = false; w = 0 }
}

proctype producer(byte firings)
{
    byte w, n;
    bool got, hit, closed, mine;

    for (n : 1 .. firings) {
        fire()
    }
    done++
}

/* Publishing: without the flock, so it may only set; and only where nobody has set before. */
proctype publisher()
{
    byte g;
    bool hit;

    g = generation;
    if
    :: g != NONE && ALIVE(g) ->
#ifdef MUTANT_JOINED_BLINDLY
        wanted = g;
        hit = true;
#else
        atomic { hit = (wanted == NONE); if :: hit -> wanted = g :: else fi };
#endif
        if
        :: hit -> word = true
        :: else
        fi
    :: else
    fi;
    run producer(2);
    run producer(1)
}

/* Holding the flock, a tracer clears what its slot's former owner may have left, then attaches: wanted, then the bit. */
inline attach(g)
{
    atomic { (locked == NONE) -> locked = g };
    generation = g;
    word = false;
    wanted = g;
    word = true;
    attached = g
}

proctype first_tracer()
{
    bool mine;
    {
        if
        :: attach(1);
            attached = NONE;
            word = false;
            atomic { if :: wanted == 1 -> wanted = NONE :: else fi };
            generation = NONE
        :: locked == 2 /* it takes another slot */
        fi
    } unless { killed };
    atomic {
        attached = (attached == 1 -> NONE : attached);
        locked = (locked == 1 -> NONE : locked); /* the kernel's doing */
        settled++
    }
}

proctype second_tracer()
{
    if
    :: attach(2)
    :: true
    fi;
    settled++
}

proctype killer()
{
    if
    :: killed = true
    :: true
    fi
}

/* When all is quiet, two more firings must find everything in order. */
init
{
    byte w;
    bool got, hit, closed, mine;

    atomic {
        run publisher();
        run first_tracer();
        run second_tracer();
        run killer()
    }
    (done == 2 && settled == 2);
    if
    :: attached == 2 -> assert(wanted == 2 && word)
    :: else
    fi;
    fire();
    fire();
    if
    :: attached == 2 -> assert(served == 2 && opened == 2 && memory == 2)
    :: else -> assert(!word) /* off again */
    fi
}
