/*
 * The end of a session (docs/internals/ring.md, "Leaving in order"): a process that publishes itself, joins and fires, killed
 * before any access; a tracer that looks at the directory now and then, and leaves at any time.
 *
 * One line is one access to what both share. Ring and area are one file here, which holds the number of events.
 *
 * Checked: when the tracer is gone, it has delivered all that was fired for it; no file of its session is left; and a process
 * that goes on finds at its next firing that the probe is off. Each MUTANT_… breaks one rule, and must be found.
 */
#define OURS 1

/* The session file, and the control file. */
bool started, locked = true;
bool published;
byte wanted;
bool word;

/* The area of the session in the process. */
bool file;
byte events;

/* What the model knows. */
bool alive = true, killed, settled;
byte fired, delivered;

/* The slow path: what a firing finds out that has a bit and does not serve its session. */
inline slot_open()
{
    sees = started && locked;
    if
    :: sees ->
        atomic { if :: alive -> file = true; mine = true :: else fi } /* to whom the mapping is, the file stays if unlinked */
#ifndef MUTANT_FILE_NOT_LOOKED_AFTER
        if
        :: wanted == OURS -> served = true
        :: else -> file = false; mine = false
        fi
#else
        served = true
#endif
    :: else ->
        /* the session is over, and nobody has its flock: what it wanted is taken back */
        atomic { if :: !locked && wanted == OURS -> wanted = 0 :: else fi }
        if :: wanted == 0 -> word = false :: else fi
    fi
}

inline fire()
{
    if
    :: !word
    :: word && wanted == 0 -> /* a stray bit: the file is unmapped; whose flock it is, clears the bit */
        served = false
        atomic { if :: !locked -> word = false :: else fi }
    :: word && wanted != 0 ->
        if :: !served -> slot_open() :: else fi
        atomic { if :: served && wanted == OURS && alive && file -> events++; fired++ :: else fi }
    fi
}

active proctype process()
{
    bool sees, mine, served;
    byte n;

    {
        published = true
        sees = started && locked
        if
        :: sees ->
            atomic { if :: wanted == 0 -> wanted = OURS; mine = true :: else -> mine = false fi }
            if :: mine -> word = true :: else fi
        :: else
        fi
        for (n : 1 .. 2) {
            fire()
        }
    } unless { !alive }
    alive = false /* it ends, too, if nobody kills it */
    settled = true
}

active proctype killer()
{
    if
    :: atomic { killed = alive; alive = false }
    :: true
    fi
}

inline detach()
{
    word = false
    atomic { if :: wanted == OURS -> wanted = 0 :: else fi }
}

active proctype tracer()
{
    bool known, there, joined;

    started = true
    do
    :: !known ->
        there = published
        if
        :: there && alive -> known = true; wanted = OURS; word = true
        :: there && !alive && wanted == OURS -> known = true
        :: else
        fi
    :: break
    od
#ifdef MUTANT_LOOKED_BEFORE_IT_SAID_SO
    goto look
back:
#endif
    started = false /* nobody joins from here on */
    if :: known -> detach() :: else fi
#ifdef MUTANT_LOOKED_BEFORE_IT_SAID_SO
    goto read
#endif
look:
#ifndef MUTANT_NO_LAST_LOOK
    there = published
    joined = (wanted == OURS)
#ifdef MUTANT_THE_DEAD_ARE_LEFT
    joined = joined && alive
#endif
    if
    :: there && joined && !known -> known = true; detach()
    :: else
    fi
#endif
#ifdef MUTANT_LOOKED_BEFORE_IT_SAID_SO
    goto back
#endif
read:
    if :: known -> delivered = events :: else fi
    if :: known -> file = false :: else fi
    locked = false
    settled
    assert(delivered == fired)
    assert(!file || killed) /* else the next tracer sweeps it */
}
