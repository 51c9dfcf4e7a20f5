/*
 * A place more (docs/internals/ring.md, "Places"): two threads of a target that meet the same place, killed before any access, and a
 * tracer that reads an event of it; a child forked at any moment, which goes on with a copy of the target's private table.
 *
 * One line is one access to what they share. The private table's lock is one step.
 *
 * Checked: who has an event finds its place, whole; so does who copies all places that are told of; both threads have the same number; so has the child, whose control file has the
 * place before its first event. Each MUTANT_… breaks one rule, and must be found.
 */
bool lock;
bool own;        /* the private table has the place */
bool record;     /* the control file's has it, */
byte nplaces;    /* and says so */
byte events;     /* published, each with number 1 */
byte numbers;    /* given out */

bool child_record;
byte child_nplaces, child_events;
bool alive = true;

/* The number of the place, under the lock: found, or made. */
inline make_place()
{
    atomic { !lock || !alive -> lock = true };
    if
    :: own -> skip
    :: !own && alive ->
        own = true;
#ifndef MUTANT_COUNTED_FIRST
        atomic { if :: alive -> record = true :: else fi };
        atomic { if :: alive -> nplaces++ :: else fi }
#else
        atomic { if :: alive -> nplaces++ :: else fi };
        atomic { if :: alive -> record = true :: else fi }
#endif
    :: !own && !alive -> skip
    fi;
    atomic { lock = false; if :: alive -> numbers++ :: else fi }
}

active [2] proctype producer()
{
#ifdef MUTANT_FIRED_FIRST
    atomic { if :: alive -> events++ :: else fi };
#endif
    if
    :: atomic { alive -> skip }; make_place()
    :: !alive -> goto over
    fi;
#ifndef MUTANT_FIRED_FIRST
    atomic { if :: alive -> events++ :: else fi };
#endif
over:
    skip
}

active proctype killer()
{
    alive = false
}

active proctype tracer()
{
    byte n;

    do
    :: events > 0 ->
        n = nplaces;
        assert(n == 1);
        assert(record);
        break
    :: atomic { !alive && events == 0 -> break }
    od
}

/* With another place's event it copies all that there are, and keeps them. */
active proctype reader_of_all()
{
    if
    :: nplaces > 0 -> assert(record)
    :: true
    fi
}

/* A fork between any two stores: the number that its memory has is one that was given out. */
active proctype child()
{
    bool copy, has_number;

    atomic { copy = own; has_number = numbers > 0 };
#ifndef MUTANT_CHILD_SHOWS_NOTHING
    if :: copy -> child_record = true; child_nplaces = 1 :: else fi;
#endif
    if
    :: has_number -> child_events++; assert(child_nplaces == 1 && child_record)
    :: else
    fi
}
