/*
 * Counting in the target (docs/internals/ring.md, "Counting"): two threads of a target that fire at one place, killed before any
 * access; the tracer of a session that takes what they have counted, and ends, or sees them dead; the session that comes after it in
 * the slot, whose word is at the same address, and its tracer.
 *
 * One line is one access to what they share. A word is its tag and its number, which change in one step.
 *
 * Checked: what was counted before a session's last look is taken, once; a session gets no firing that began in another; while a
 * session is served, none of its firings is thrown away as late. Each MUTANT_… breaks one rule, and must be found.
 */
#define UNKNOWN 0
#define COUNTED 1

byte generation = 1; /* the session that the target serves; 0: it is changing that */
byte how = UNKNOWN;  /* decided of the place */
byte tag, number;    /* the word */
bool lock;
bool alive = true;

/* What the model knows, by session. */
byte began[3], counted[3], taken[3];
bool first_is_over;

#define STEP(what) if :: atomic { alive -> what } :: !alive -> goto over fi
#define LOCK atomic { !lock || !alive -> if :: alive -> lock = true :: else -> goto over fi }

/* By the exchange that reads it, a number is taken once. */
inline take(mine)
{
#ifndef MUTANT_TAKEN_IN_TWO
    atomic { if :: tag == mine -> taken[mine] = taken[mine] + number; number = 0 :: else fi }
#else
    atomic { seen_tag = tag; seen = number };
    atomic { if :: seen_tag == mine && tag == mine -> taken[mine] = taken[mine] + seen; number = 0 :: else fi }
#endif
}

active [2] proctype producer()
{
    byte turn = 0, mine, decided, old_tag, old;

    do
    :: turn < 2 ->
        turn++;
        STEP(mine = generation; began[mine] = began[mine] + 1);
        if
        :: mine == 0 -> goto next
        :: else
        fi;
        STEP(decided = how);
        if
        :: decided == UNKNOWN ->
            LOCK;
            if
            :: generation == mine && how == UNKNOWN ->
#ifndef MUTANT_DECIDED_FIRST
                STEP(tag = mine; number = 0);
                STEP(how = COUNTED)
#else
                STEP(how = COUNTED);
                STEP(tag = mine; number = 0)
#endif
            :: else
            fi;
            STEP(decided = (generation == mine -> how : UNKNOWN); lock = false)
        :: else
        fi;
        if
        :: decided == UNKNOWN -> goto next /* an event, if anything */
        :: else
        fi;
        STEP(old_tag = tag; old = number);
        do
#ifndef MUTANT_WITHOUT_A_TAG
        :: old_tag != mine -> assert(generation != mine); break
        :: old_tag == mine ->
#else
        :: true ->
#endif
            STEP(if :: tag == old_tag && number == old -> number++; counted[mine] = counted[mine] + 1; goto next
                    :: else -> old_tag = tag; old = number fi)
        od;
next:
        skip
    :: turn == 2 -> break
    od;
over:
    skip
}

/* The slot's next session is served: under the lock, and with a new word at the same address. */
active proctype server()
{
    first_is_over;
    LOCK;
#ifndef MUTANT_SERVED_AT_ONCE
    STEP(generation = 0);
    STEP(how = UNKNOWN);
    STEP(tag = 0; number = 0);
    STEP(generation = 2);
#else
    STEP(generation = 2);
    STEP(how = UNKNOWN);
    STEP(tag = 0; number = 0);
#endif
    STEP(lock = false);
over:
    skip
}

active proctype killer()
{
    alive = false
}

active proctype first_tracer()
{
    byte due, seen, seen_tag;

    take(1);
    if
    :: due = counted[1] /* it ends: all until here is its own */
    :: atomic { !alive -> due = counted[1] }
    fi;
#ifndef MUTANT_NO_LAST_LOOK
    take(1);
#endif
    assert(taken[1] >= due && taken[1] <= began[1]);
    first_is_over = true
}

/* Sees the target dead, then takes what is there. */
active proctype second_tracer()
{
    byte seen, seen_tag;

    first_is_over;
    take(2);
#ifndef MUTANT_DEAD_AFTER_THE_LOOK
    !alive;
    take(2);
#else
    take(2);
    !alive;
#endif
    assert(taken[2] == counted[2] && taken[2] <= began[2])
}
