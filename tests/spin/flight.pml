/*
 * The flight recorder's ring (docs/internals/ring.md, "The flight recorder"): a producer that overwrites the oldest events, killed
 * before any store; a reader who comes at any time, while it writes or when it is dead.
 *
 * One line is one access to shared memory. Events have two halves and take one cell or two, so that one event makes room
 * of two old ones, and one old one room for two.
 *
 * Checked: what the reader takes is whole, in order, and without a hole; when the producer is dead, all that it published
 * and did not overwrite is read. Each MUTANT_… breaks one rule, and must be found.
 */
#define CELLS 3
#define EVENTS 5

byte head, tail;        /* shared; in cells, ever */
byte size[CELLS];       /* of the event that begins here: 1 or 2 */
byte number[CELLS];     /* the two halves of an event: its number, at its first cell … */
byte last[CELLS];       /* … and at its last */
bool producing = true;

/* What the model knows. */
byte published; /* the number of the last */

active proctype producer()
{
    byte my_head, my_tail, n = 1, want;
    byte my_size[CELLS];

    do
    :: n > EVENTS -> break
    :: n <= EVENTS ->
        if :: want = 1 :: want = 2 fi
#ifndef MUTANT_TAIL_AFTER_PAYLOAD
        do
        :: my_head + want - my_tail > CELLS -> my_tail = my_tail + size[my_tail % CELLS]
        :: else -> break
        od
        if :: goto dead :: skip fi
        tail = my_tail
#endif
        if :: goto dead :: skip fi
#ifdef MUTANT_HEAD_BEFORE_PAYLOAD
        atomic { head = my_head + want; published = n }
        if :: goto dead :: skip fi
#endif
        atomic { size[my_head % CELLS] = want; number[my_head % CELLS] = n }
        if :: goto dead :: skip fi
        last[(my_head + want - 1) % CELLS] = n
        if :: goto dead :: skip fi
#ifdef MUTANT_TAIL_AFTER_PAYLOAD
        do
        :: my_head + want - my_tail > CELLS -> my_tail = my_tail + 1
        :: else -> break
        od
        tail = my_tail
#endif
        my_head = my_head + want
        atomic { head = my_head; published = n; n++ }
    od
dead:
    producing = false
}

active proctype reader()
{
    byte at, end, begins, ends, length, now, before = 0
    bool was_dead

    was_dead = !producing
    end = head
    at = tail
    if :: at > end -> at = end :: else fi
    do
    :: at >= end -> break
    :: at < end ->
        atomic { length = size[at % CELLS]; begins = number[at % CELLS] }
        if :: length == 0 || length > end - at -> length = 1; ends = 0
           :: else -> ends = last[(at + length - 1) % CELLS]
        fi
#ifndef MUTANT_NO_SECOND_LOOK
        now = tail
#else
        now = at
#endif
        if
        :: now > at -> at = now; before = 0
        :: else ->
            assert(begins == ends)
            assert(before == 0 || begins == before + 1)
            before = begins
            at = at + length
        fi
    od
    /* Read when it was dead: to the last that it published, unless all had just made room. */
    assert(!was_dead || before == published || tail == head)
}
