/*
 * The rings (docs/internals/ring.md, "Rings" and "Order"): two producers of one process, rings of two cells that one more is added
 * to under contention, one tracer; SIGKILL of either side before every shared store.
 *
 * One line of this model is one access to shared memory; what is private happens with the next access. Sequential
 * consistency is what the memory orders in c/target/ring.c and c/session/ring_merge.c give these accesses (docs/internals/ring.md argues each).
 *
 * Checked: no event is delivered torn, twice or unpublished; in order of time; fired = delivered + dropped, but for one
 * unfinished event per producer that was killed inside; all that was published before a kill is delivered; nobody waits
 * for ever. Each MUTANT_… breaks one rule, and must be found.
 *
 * FIRST, SECOND: events that each producer fires; RINGS: how many rings there may be; GROWING: one, and more as needed.
 * SKIPPING: at first a ring has pages for one cell only; who comes to their end is given more, or goes on at the beginning.
 * SPILLING: who has a ring that is full keeps it, and takes another that is not, be it made for that.
 * ALONE: the producers are of two processes, each with a ring that it takes by a plain store. What they store is seen when it
 * leaves the processor's store buffer, one by one and at any time; the tracer's barrier, and the end of a process, empty it.
 */
#define PRODUCERS 2
#ifndef RINGS
#define RINGS 2
#endif
#ifndef CELLS
#define CELLS 2 /* of one ring */
#endif

typedef ring {
    bool busy;
    byte head, tail;    /* cells published and consumed, ever */
    byte payload[CELLS]; /* the two halves of an event: whose it is … */
    byte time[CELLS];    /* … and its time, read when the payload is there */
    byte private_head;  /* the holder's; not shared */
    byte seen_tail;
    bool whole;         /* all pages are there */
}
#define SKIP 255 /* in the place of a payload: the cell is none */
ring rings[RINGS];
#ifdef GROWING
byte nrings = 1;
#else
byte nrings = RINGS;
#endif
byte clock = 1;    /* CLOCK_MONOTONIC: moves on with each event, so that times are names */
byte dropped;      /* shared, counted up with one atomic instruction */
bool lock;         /* of the slow paths */
bool target = true, tracer = true; /* they live */

/* What the model knows and the processes do not. */
byte fired, published, delivered, inside, finished;
byte whose[FIRST + SECOND + 2]; /* the event of a time is, until it is delivered */
bool reported;

#ifdef ALONE
mtype = { BUSY, HEAD };
chan stores[RINGS] = [4] of { mtype, byte };
#define STORE_BUSY(to) stores[k] ! BUSY, to
#define STORE_HEAD(to) stores[k] ! HEAD, to
#else
#define STORE_BUSY(to) rings[k].busy = to
#define STORE_HEAD(to) rings[k].head = to
#endif

/* The holder's head is where there is no page: there are more now, or the cell is left out. */
inline come_to_end()
{
    if
    :: rings[k].private_head % CELLS == 1 && !rings[k].whole ->
        if
        :: rings[k].whole = true
        :: atomic { rings[k].seen_tail = rings[k].tail; skipped = 1 }
        fi
    :: else
    fi
}

#define FULL(r) (rings[r].private_head - rings[r].seen_tail >= CELLS)

/* A ring more, by who has the lock. */
inline grow()
{
    if
    :: nrings < RINGS -> nrings++ /* the file is there, and then it is told */
    :: else
    fi;
    lock = false
}

/* Ring k is full: takes another, or goes on with k, whose holder it stays in any case. */
inline spill()
{
    if
    :: !FULL(k)
    :: FULL(k) ->
        kept = k + 1;
        k = 0;
        do
        :: k < nrings && k + 1 != kept ->
            atomic {
                if
                :: !rings[k].busy -> rings[k].busy = true; held = false
                :: else -> k++
                fi
            };
            if
            :: !held ->
                held = true;
                if
                :: FULL(k) -> rings[k].seen_tail = rings[k].tail
                :: else
                fi;
                if
                :: !FULL(k) -> break
                :: else -> rings[k].busy = false; k++
                fi
            :: else
            fi
        :: k < nrings && k + 1 == kept -> k++
        :: k >= nrings ->
            if
            :: atomic { nrings < RINGS && !lock -> lock = true }
                grow()
            :: k = kept - 1; kept = 0; break
            fi
        od
    fi
}

inline skip_cell()
{
    if
    :: skipped == 1 ->
#ifndef MUTANT_SKIP_NOT_TOLD
        rings[k].payload[rings[k].private_head % CELLS] = SKIP;
#endif
        rings[k].private_head++
    :: else
    fi
}

inline offer()
{
    /* the clause of every access: a dead process makes none */
    atomic { fired++; inside++; k = 0; held = false }
#ifdef MUTANT_CLOCK_BEFORE_BUSY
    atomic { now = clock; clock++; whose[now] = me }
#endif
#ifdef ALONE
    k = me - 1;
    STORE_BUSY(true);
    held = true;
#else
    do
    :: k < nrings ->
#ifdef MUTANT_BUSY_NOT_ATOMIC
        if
        :: !rings[k].busy -> rings[k].busy = true; held = true; break
        :: else -> k++
        fi
#else
        atomic {
            if
            :: !rings[k].busy -> rings[k].busy = true; held = true; break
            :: else -> k++
            fi
        }
#endif
    :: else ->
        if
        :: atomic { nrings < RINGS && !lock -> lock = true }
            grow()
        :: break /* no free ring: the event is dropped */
        fi
    od;
#endif
    if
    :: !held -> atomic { dropped++; inside-- }
    :: held ->
        if
        :: rings[k].private_head - rings[k].seen_tail >= CELLS -> rings[k].seen_tail = rings[k].tail
        :: else
        fi;
#ifdef SPILLING
        spill();
#endif
#ifdef SKIPPING
        come_to_end();
#endif
        if
#if defined(MUTANT_ROOM_OFF_BY_ONE)
        :: rings[k].private_head - rings[k].seen_tail > CELLS ->
#elif defined(MUTANT_SKIP_OVER_UNREAD)
        :: rings[k].private_head - rings[k].seen_tail >= CELLS ->
#else
        :: rings[k].private_head + skipped - rings[k].seen_tail >= CELLS ->
#endif
#ifndef MUTANT_DROP_NOT_COUNTED
            atomic { dropped++; inside-- };
#else
            inside--;
#endif
            STORE_BUSY(false)
        :: else ->
#ifdef SKIPPING
            skip_cell();
#endif
#ifdef MUTANT_PUBLISHED_BEFORE_PAYLOAD
            atomic { now = clock; clock++; whose[now] = me };
            rings[k].time[rings[k].private_head % CELLS] = now;
            atomic { STORE_HEAD(rings[k].private_head + 1); published++ };
            rings[k].payload[rings[k].private_head % CELLS] = me;
            rings[k].private_head++;
            inside--;
            STORE_BUSY(false)
#else
            rings[k].payload[rings[k].private_head % CELLS] = me;
#ifndef MUTANT_CLOCK_BEFORE_BUSY
            atomic { now = clock; clock++; whose[now] = me };
#endif
            atomic { rings[k].time[rings[k].private_head % CELLS] = now; rings[k].private_head++ };
#ifdef MUTANT_FREED_BEFORE_PUBLISHED
            mine = rings[k].private_head;
            STORE_BUSY(false);
            atomic { STORE_HEAD(mine); published++; inside-- }
#else
            atomic { STORE_HEAD(rings[k].private_head); published++; inside-- };
            STORE_BUSY(false)
#endif
#endif
        fi
    fi;
#if defined(SPILLING) && !defined(MUTANT_SPILLED_RING_NOT_GIVEN_BACK)
    if
    :: kept != 0 -> rings[kept - 1].busy = false
    :: else
    fi;
#endif
    atomic { k = 0; held = false; now = 0; mine = 0; skipped = 0; kept = 0 }
}

proctype producer(byte me, events)
{
    byte k, now, n, mine, skipped, kept;
    bool held;
    {
        for (n : 1 .. events) {
            offer()
        }
    } unless { !target };
#ifdef ALONE
    empty(stores[me - 1]); /* so it is when the tracer sees that a process has ended */
#endif
    finished++
}

#ifdef ALONE
inline leave(r)
{
    atomic {
        stores[r] ? word, value;
        if
        :: word == BUSY -> rings[r].busy = value
        :: word == HEAD -> rings[r].head = value
        fi;
        word = 0;
        value = 0
    }
}

inline empty_buffer(r)
{
    atomic {
        do
        :: nempty(stores[r]) -> leave(r)
        :: empty(stores[r]) -> break
        od
    }
}

proctype store_buffer(byte r)
{
    mtype word;
    byte value;
end:
    do
    :: leave(r)
    od
}
#endif

/* Either side may be killed at any time, or never. */
proctype killer()
{
#ifdef ALONE
    mtype word;
    byte value;
#endif
    if
#ifdef ALONE
    :: atomic { target = false; empty_buffer(0); empty_buffer(1) }
#else
    :: target = false
#endif
    :: tracer = false
    :: true
    fi
}

inline look(r)
{
#ifdef MUTANT_HEAD_BEFORE_BUSY
    head = rings[r].head;
    busy = rings[r].busy;
#else
    busy = rings[r].busy;
    head = rings[r].head;
#endif
    d_step {
        limit[r] = head;
        if
        :: dead -> safe[r] = 255
        :: !dead && !busy -> safe[r] = t
        :: else
        fi;
        if
        :: safe[r] < watermark -> watermark = safe[r]
        :: else
        fi;
        head = 0;
        busy = false
    }
}

/* The oldest event that is ripe, from ring `from`. Limits are private copies; the cells are not. */
inline choose()
{
    d_step {
        from = RINGS;
        r = 0;
        do
        :: r < RINGS ->
            if
            :: position[r] < limit[r] && rings[r].payload[position[r] % CELLS] == SKIP ->
                rings[r].payload[position[r] % CELLS] = 0;
                position[r]++
            :: else
            fi;
            if
            :: position[r] < limit[r] && rings[r].time[position[r] % CELLS] < watermark ->
                if
                :: from == RINGS -> from = r
                :: from < RINGS ->
                    if
                    :: rings[r].time[position[r] % CELLS] < rings[from].time[position[from] % CELLS] -> from = r
                    :: else
                    fi
                fi
            :: else
            fi;
            r++
        :: else -> break
        od;
        r = 0
    }
}

inline deliver()
{
#ifdef MUTANT_TAIL_BEFORE_COPY
    rings[from].tail = position[from] + 1;
#endif
    event = rings[from].time[position[from] % CELLS];
    d_step {
        assert(event > last); /* once, and in order: times are different */
        assert(rings[from].payload[position[from] % CELLS] == whose[event]); /* whole */
        last = event;
        whose[event] = 0; /* this, and what follows, only so that there are fewer states */
        event = 0;
        rings[from].time[position[from] % CELLS] = 0;
        rings[from].payload[position[from] % CELLS] = 0;
        delivered++;
        position[from]++
    }
#ifndef MUTANT_TAIL_BEFORE_COPY
    rings[from].tail = position[from]
#endif
}

proctype reader()
{
    byte position[RINGS], limit[RINGS], safe[RINGS];
    byte t, n, r, from, head, watermark, last, event;
    bool busy, dead, over;
#ifdef ALONE
    mtype word;
    byte value;
#endif
    {
        do
        :: over -> break
        :: else ->
            over = (finished == PRODUCERS); /* nothing is fired any more, so this look is the last */
#ifdef MUTANT_CLOCK_AFTER_RINGS
            n = nrings;
            t = clock;
#else
            t = clock; /* what was fired before has a time below t, what is fired later t or more */
            n = nrings;
#endif
#if defined(ALONE) && !defined(MUTANT_NO_BARRIER)
            empty_buffer(0); /* of one processor after the other, before they are looked at */
            empty_buffer(1);
#endif
            dead = !target;
            watermark = t;
            for (r : 0 .. n - 1) {
                look(r)
            }
#ifdef MUTANT_DEATH_AFTER_LOOK
            over = over || !target;
#endif
            do
            :: choose();
                if
                :: from == RINGS -> break
                :: else -> deliver()
                fi
            od
            atomic {
                t = 0;
                n = 0;
                from = 0;
                watermark = 0;
                dead = false;
                for (r : 0 .. RINGS - 1) { limit[r] = 0 };
                r = 0
            }
        od
    } unless { !tracer };
    if
    :: tracer ->
        assert(delivered == published);
        assert(fired == delivered + dropped + inside);
        assert(inside <= PRODUCERS && (!target || inside == 0))
    :: else
    fi;
    reported = true
}

init
{
    atomic {
        run producer(1, FIRST);
        run producer(2, SECOND);
        run reader();
        run killer();
#ifdef ALONE
        run store_buffer(0);
        run store_buffer(1)
#endif
    }
    (finished == PRODUCERS && reported) /* an invalid end state otherwise: somebody waits for ever */
}
