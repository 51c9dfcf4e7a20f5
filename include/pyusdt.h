/*
 * pyusdt's C core: the interface for programs that fire probes.
 *
 * A program describes its probes once to pyusdt_publish(). Every embedded session that wants an
 * event gets it in a ring (docs/internals/ring.md).
 *
 * The menu
 *   pyusdt_publish / pyusdt_unpublish   make this process traceable, or not
 *   pyusdt_enabled                      does any tracer want a probe?          (two loads and a test)
 *   pyusdt_demand                       which of its arguments?
 *   pyusdt_fire                         offer one event to the embedded sessions
 *   pyusdt_firing_begin … _offer        the same step by step, to convert a language's values into an event
 *   pyusdt_provider_define              probes that are defined at run time
 *   pyusdt_watch_start / _stop          get a call when tracing begins or ends
 *   pyusdt_place_wanted … _fire_at      probes with any module and function: one probe, many code locations
 *   pyusdt_remark_set                   a remark for tracers: why a probe does not fire here
 *   pyusdt_stack_taker, pyusdt_frame    the stack of the language that fires, if a session wants it
 *   pyusdt_flight                       the file of the last events, to be read after the process's death
 *   pyusdt_glob, pyusdt_probe_name, pyusdt_note_name    names, as DTrace treats them
 *
 * Invariants
 * - Nothing here blocks, raises, takes a lock of the application, or calls malloc. All functions
 *   except pyusdt_publish, pyusdt_unpublish and the watcher's may be called from any thread and
 *   from a signal handler.
 * - The enabled test is a hint: a probe may fire once after it was disabled, and that event is not
 *   counted.
 * - An event that was offered while a session was attached is in that session's ring, or is counted
 *   as its drop.
 * - The core is hidden in the object that it is linked into: a process may have several of them.
 */
#ifndef PYUSDT_H
#define PYUSDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(hidden)

#define PYUSDT_MAX_ARGS 12
#define PYUSDT_MAX_PROBES 4096 /* in one process */
/* in one run directory: one bit of an enable word each; the last bit is the flight recorder's */
#define PYUSDT_MAX_SESSIONS 63
#define PYUSDT_MAX_STRING \
    1023 /* bytes of one string argument that an event holds at most, without its NUL */
#define PYUSDT_MAX_FRAMES 256 /* of the stack that an event holds at most */

/* An error, for a person: `code` is the -errno that was returned. */
struct pyusdt_error {
    int code;
    char message[636];
};

/* One probe, or a family of them: a family of `count` probes has the names name0, name1, … and
 * the functions function0, function1, …; they take consecutive indices. Names are D's
 * (`user_trace-i4s4`). */
struct pyusdt_probe_desc {
    const char *provider; /* without the pid: "pyusdt" */
    const char *module;
    const char *function;
    const char *name;
    uint32_t count;   /* 0 and 1: one probe, nothing appended */
    uint32_t strings; /* bit i: argument i is a string */
    uint32_t nargs;
    /* 1: it fires at many places ("places" below); module and function are "", and it is no
     * family */
    uint32_t places;
    const char *signature; /* its arguments for D: "(route: string, int64_t)"; NULL: unknown */
};

/* A string: value is its address, length its bytes without the NUL; address 0: absent. An
 * integer: length is ignored. */
struct pyusdt_args {
    uint64_t value[PYUSDT_MAX_ARGS];
    uint32_t length[PYUSDT_MAX_ARGS];
    /* bit i: argument i was not filled in, as pyusdt_demand() did not name it. A session that
     * reads it drops the event */
    uint32_t missing;
    uint32_t nframes; /* of the stack; 0: none was taken */
    /* if nframes is not 0: the index of the first native frame, which pyusdt_fire_with_stack() puts
     * there */
    uint32_t natives;
    /* the innermost first, each as pyusdt_frame() makes it, or PYUSDT_FRAME_MORE as the last */
    const uint64_t *frame;
};

/* One word a probe; bit s: the session in slot s wants it. Before pyusdt_publish() all are 0; in
 * a forked child all are ~0 until its first pyusdt_demand() or pyusdt_fire(), which publishes
 * the child anew. */
extern uint64_t *pyusdt_enabled_words;

/* From the probe sites: is a USDT tracer attached? For sites that the system's dtrace makes, only
 * the system knows; else each probe has a count, which stays 0 in a target without sites. */
#if defined(PYUSDT_SITES_DTRACE)
int pyusdt_attached(unsigned probe);
#else
extern uint16_t pyusdt_semaphores[];

static inline int pyusdt_attached(unsigned probe)
{
    return __atomic_load_n(&pyusdt_semaphores[probe], __ATOMIC_RELAXED) != 0;
}
#endif

/* The hint for the embedded sessions only. */
static inline int pyusdt_wanted(unsigned probe)
{
    return __atomic_load_n(&pyusdt_enabled_words[probe], __ATOMIC_RELAXED) != 0;
}

/* The hint: does any tracer want it, embedded or USDT? */
static inline int pyusdt_enabled(unsigned probe)
{
#if defined(PYUSDT_SITES_DTRACE)
    return pyusdt_wanted(probe) || pyusdt_attached(probe);
#else
    return (pyusdt_semaphores[probe] |
            __atomic_load_n(&pyusdt_enabled_words[probe], __ATOMIC_RELAXED)) != 0;
#endif
}

#define PYUSDT_DEMAND_FIRE 0x80000000u /* a session wants the firing itself, with any arguments */
#define PYUSDT_DEMAND_STACK (1u << PYUSDT_MAX_ARGS) /* and the stack */

/* The demand of the embedded sessions for a firing of `probe`: bit i: argument i is read;
 * PYUSDT_DEMAND_FIRE: there is such a session. 0: none. (A USDT tracer that is attached wants every
 * argument; the caller knows it by the semaphore.) Sets up a session that is new to this process,
 * so the first call after an attach is slow. Only here a process that has become another user
 * (setuid) publishes itself anew, so that a later session can find it. If a caller fires without
 * asking, later sessions do not find the process, and its events are counted as their drops. */
uint32_t pyusdt_demand(unsigned probe);

/* Gives back the buffers' addresses of sessions that have ended, which else stay mapped until
 * the next session. */
void pyusdt_let_go(void);

/* How many sessions want events of this process. */
unsigned pyusdt_count_sessions(void);

/* Offers the event to each session that wants it. A session that has attached since
 * pyusdt_demand(), and reads what is `missing`, counts it as a drop. */
void pyusdt_fire(unsigned probe, const struct pyusdt_args *args);

/*
 * Makes the process traceable: n descriptions (copied), probes numbered from 0 in their order.
 * Sessions that wait for this process are in place when it returns. After a failure (no run
 * directory, no memory) every probe is off: -errno. -EALREADY: published before. -EINVAL: the table
 * has too many probes or an impossible argument count.
 */
int pyusdt_publish(const struct pyusdt_probe_desc *table, unsigned n);

/* Ends it: probes are off, and the control file is removed unless a session still has events to
 * read. */
void pyusdt_unpublish(void);

/*
 * Adds probes after pyusdt_publish(): n descriptions of one probe each, which attached sessions may
 * want immediately. Returns the index of the first; they are consecutive. -ENOSPC: the table or the
 * run directory is full. -ENOTCONN: not published; or why pyusdt_publish() failed. Not for signal handlers.
 */
int pyusdt_publish_more(const struct pyusdt_probe_desc *table, unsigned n);

/* ---- the watcher: a call when tracing begins or ends ---- */

struct pyusdt_probe_site;

/* What one part of the program watches. It belongs to the caller, who does not change it between
 * start and stop. */
struct pyusdt_watch {
    void (*changed)(void *arg); /* on the watcher's thread, all of whose signals are blocked */
    void *arg;
    unsigned first, n; /* the watched probes, by index: the demand of embedded sessions for them; */
    /* and n sites, in the order of the probes from `first` on: USDT tracers, too. Or NULL */
    const struct pyusdt_probe_site *sites;
    /* on that thread: whether `changed` is to be called now, whatever is wanted; every 200 ms.
     * Or NULL */
    int (*must_look)(void);
    /* on that thread, before it ends: releases what `changed` stores for the thread. Or NULL; one
     * of a process */
    void (*ended)(void);
    /* the core's: */
    struct pyusdt_watch *next;
    uint64_t seen;
};

/* Calls `changed` after the demand for these probes has changed: immediately if the tracer wakes
 * the watcher, else (a USDT tracer, a tracer that was killed) within 200 ms, or a second; and once
 * when it starts. At most every 10 ms. The first watch starts the process's one watcher thread. In
 * a forked child nothing is watched until it is started there. 0; -ENOTCONN: not published; or why
 * there is no thread. Only one thread at a time may start and stop; not for signal handlers. */
int pyusdt_watch_start(struct pyusdt_watch *watch);

/* After it has returned, some milliseconds later, nothing is called any more; the last one ends the
 * thread. It waits for a `changed` that runs, so the caller must not hold what `changed` needs
 * (Python's GIL), and `changed` must not call it. A watch that was not started is allowed. */
void pyusdt_watch_stop(struct pyusdt_watch *watch);

/* ---- places: one probe at many places of the program's code ---- */

/* A probe of `places` fires in functions of the program: its module and function are those of the
 * place. A session's patterns for them are compared once for each place, here; the caller stores
 * the answer with the place, and fires for these sessions only. */

/* Bytes of names: longer ones lose their ends, for D as for a session's patterns. */
#define PYUSDT_PLACE_MODULE 63
#define PYUSDT_PLACE_FUNCTION 127
#define PYUSDT_PLACE_FILE 511
#define PYUSDT_MAX_PLACES 65536 /* in one process */

extern uint32_t pyusdt_places_word;

/* Another number than before: an answer of pyusdt_place_wanted() may have become another. (What
 * tracers change is noticed by the watcher: a process without one has old answers.) */
static inline uint32_t pyusdt_places_generation(void)
{
    return __atomic_load_n(&pyusdt_places_word, __ATOMIC_ACQUIRE);
}

/* Which sessions want this probe at this location: bit s: session s; the last bit: the flight
 * recorder. 0: none. A session that does not want it may be among them: its tracer then discards
 * the event. Some microseconds; slow after an attach, as pyusdt_demand(). */
uint64_t pyusdt_place_wanted(unsigned probe, const char *module, const char *function);

/* Whether a session asks for a location with a similar module or function: MODULE:FUNCTION as it
 * asked, in `asked`. For a location that no session wants; some microseconds. */
bool pyusdt_place_is_near(unsigned probe, const char *module, const char *function, char *asked,
                          size_t size);

/* Whether a name may be a typing error of `asked`. */
bool pyusdt_is_near_name(const char *asked, const char *name);

/* The arguments (bits) that a session's descriptions want of a probe at a location; *named: those
 * that a description wants which names this function only. 0 if this is not known now. */
uint32_t pyusdt_place_arguments(unsigned probe, unsigned session, const char *module,
                                const char *function, uint32_t *named);

/* The n-th pattern by which sessions ask for this probe, module and function; false: there are fewer,
 * or this is not known now. */
bool pyusdt_place_pattern(unsigned probe, unsigned n, char module[PYUSDT_PLACE_MODULE + 1],
                          char function[PYUSDT_PLACE_FUNCTION + 1]);

/* The number of a place, by which its events name it: the same for the same names, in this process
 * and its forked children. file may be "". 0: there is no room for another one, or not now; events
 * there are counted as drops. */
uint32_t pyusdt_place(const char *module, const char *function, const char *file, uint32_t line);

/* As pyusdt_demand() and pyusdt_fire(), for these sessions only. For sessions that only want to
 * know how often the location fires, and whose demand is PYUSDT_DEMAND_FIRE only, it is counted;
 * the others get an event. */
uint32_t pyusdt_demand_at(unsigned probe, uint64_t sessions);
void pyusdt_fire_at(unsigned probe, uint32_t place, uint64_t sessions,
                    const struct pyusdt_args *args);

/* Both in one for those of these sessions whose demand is PYUSDT_DEMAND_FIRE only. Leaves the
 * others in *sessions, and returns their demand; 0: there are none. */
uint32_t pyusdt_fire_bare_at(unsigned probe, uint32_t place, uint64_t *sessions);

/* ---- remarks: what a process reports about its probes to their tracers ---- */

#define PYUSDT_REMARKS 8

enum pyusdt_remark {
    PYUSDT_REMARK_LACK,    /* why this process does not fire the probes, or not always */
    PYUSDT_REMARK_HINT,    /* a hint for a tracer that has seen none of them fire */
    PYUSDT_REMARK_SHARED,  /* what a tracer should know whose script has self-> variables */
    PYUSDT_REMARK_REFUSED, /* why this process does not fire what a tracer wants: a loss for it */
    /* code that a tracer names and this process does not have: a loss for a tracer that named the
     * process, a hint for one of all processes */
    PYUSDT_REMARK_ABSENT
};

/* Sets the remark `text`, for a person, for tracers that want one of these probes. which: below
 * PYUSDT_REMARKS; text: NULL removes it. provider: "": all of the process's. names: separated by
 * blanks; "": all of the provider's. Texts live as long as the process, so a caller has few of
 * them. -ENOSPC, -EAGAIN: there is no room, or not now. */
int pyusdt_remark_set(unsigned which, const char *provider, const char *names, const char *text,
                      enum pyusdt_remark kind);

/* ---- values by paths ---- */

/* At probes with places a session may read values by paths (`local.cart.total`), which the language
 * compiles and follows. The value of path i is argument PYUSDT_PATH_ARG + i of its events: a string
 * or an integer, absent where there is none. A language that follows paths says so by
 * pyusdt_follows_paths = 1, before it publishes its probes; else nothing of them is demanded. */
#define PYUSDT_PATH_ARG 6u
#define PYUSDT_PATH_ARGS (((1u << PYUSDT_MAX_ARGS) - 1) & ~((1u << PYUSDT_PATH_ARG) - 1))
extern int pyusdt_follows_paths;

struct pyusdt_path {
    uint32_t size;
    uint8_t bytes[508]; /* of the language's own form */
};

/* The paths of the session in a slot, as many as there is room for (PYUSDT_PATH_ARGS has the
 * most); *generation names the session, 0: it has none. Returns how many. The bytes are untrusted. */
unsigned pyusdt_session_paths(unsigned session, struct pyusdt_path *paths, unsigned room,
                              uint64_t *generation);

/* Counts an event of a probe as a drop of the session in a slot, which gets no more of it. */
void pyusdt_drop_event(unsigned session, unsigned probe);

/* That generation only, which costs little: to know whether what was compiled is still right. */
uint64_t pyusdt_session_paths_generation(unsigned session);

/* Whether its tracer is still there and reads paths. */
int pyusdt_session_has_paths(unsigned session);

/* ---- stacks ---- */

/* The function that takes the stack of the firing thread: set once, by the language that fires,
 * before its first event; NULL: there are no stacks. It fills in the innermost `most` frames and,
 * if there are more, PYUSDT_FRAME_MORE behind them, so at most most + 1 words; returns how many. It
 * is called before a ring is taken, and from signal handlers if probes fire there. */
typedef uint32_t pyusdt_stack_fn(uint64_t *frame, uint32_t most);
extern pyusdt_stack_fn *pyusdt_stack_taker;

/* As pyusdt_fire() (sessions ~0), or pyusdt_fire_at(), with the stack, after pyusdt_demand() has
 * returned PYUSDT_DEMAND_STACK: the frames of the language (those in args if there is no taker),
 * and, if a session wants them, native ones, by frame pointers (-fno-omit-frame-pointer), from the
 * function that calls this one. */
void pyusdt_fire_with_stack(unsigned probe, uint32_t place, uint64_t sessions,
                            const struct pyusdt_args *args);

/* One frame: the number of its function's place (pyusdt_place; 0: not known), and the line that
 * it is at (0: not known). */
static inline uint64_t pyusdt_frame(uint32_t place, uint32_t line)
{
    return (uint64_t)place << 32 | line;
}

/* In the lower half of a frame of a language: C called the interpreter for this one, and the C
 * frame is behind it. */
#define PYUSDT_FRAME_ENTRY (1u << 30)

/* In the lower half: the place is a megabyte of a file of code, or of memory, and this the
 * offset there. */
#define PYUSDT_FRAME_CODE (1u << 31)

static inline uint64_t pyusdt_code_frame(uint32_t place, uint32_t offset)
{
    return (uint64_t)place << 32 | PYUSDT_FRAME_CODE | offset;
}

/* Set once by a library that contains only pyusdt: functions of the object that the core lies in
 * are no frames if they are the innermost. */
extern int pyusdt_native_inner;

/* In the place of the frame behind the last that is wanted: there are more. */
#define PYUSDT_FRAME_MORE UINT64_MAX

/* The flight recorder, which the environment's PYUSDT_FLIGHT=SIZE turns on
 * (docs/howto/recording.md): 1, and the path of its file; 0: not turned on; -errno: why it failed
 * (-ENOTSUP: the run directory is on a disk). */
int pyusdt_flight(char *path, size_t size);

/* ---- providers of run time ---- */

#define PYUSDT_PROVIDER_MAX 40 /* bytes of a provider's name */
#define PYUSDT_NAME_MAX 63     /* and of a probe's */
#define PYUSDT_ARGUMENT_MAX 63 /* and of an argument's */
#define PYUSDT_SIGNATURE_SIZE \
    904 /* bytes of the names and types of PYUSDT_MAX_ARGS arguments, as text with its NUL */

/* The type of an argument: its kind and its size in bytes, `PYUSDT_INT | 4`. */
#define PYUSDT_TYPE_SIZE(type) ((type) & 0xfu)
#define PYUSDT_KIND 0xf0u
#define PYUSDT_UINT 0x10u   /* 1, 2, 4, 8 */
#define PYUSDT_INT 0x20u    /* signed; 1, 2, 4, 8 */
#define PYUSDT_FLOAT 0x30u  /* its bits, as an unsigned integer; 4, 8 */
#define PYUSDT_STRING 0x48u /* the address of NUL-terminated text */
#define PYUSDT_TERM \
    0x58u /* the address of an Erlang term, as long as `length` says: c/shared/term_format.h */

struct pyusdt_probe_def {
    const char *name; /* D's */
    unsigned nargs;
    uint8_t type[PYUSDT_MAX_ARGS];
    unsigned places;                       /* 1: as in struct pyusdt_probe_desc */
    const char *argument[PYUSDT_MAX_ARGS]; /* the name of each, words of D; NULL: none */
};

/* The site of a probe that was defined at run time. */
struct pyusdt_probe_site {
    /* for pyusdt_demand() and pyusdt_fire(); PYUSDT_NO_PROBE: no session can want it */
    unsigned index;
    const uint16_t
        *semaphore; /* the number of attached USDT tracers; always 0 if no object could be made */
    void (*entry)(void); /* for pyusdt_site_call(), while the semaphore is up; else NULL */
};

/* Its enable word is readable, and 0, unless the process has as many probes as it can. */
#define PYUSDT_NO_PROBE (PYUSDT_MAX_PROBES - 1)

static inline int pyusdt_site_enabled(const struct pyusdt_probe_site *site)
{
    return (__atomic_load_n(site->semaphore, __ATOMIC_RELAXED) |
            __atomic_load_n(&pyusdt_enabled_words[site->index], __ATOMIC_RELAXED)) != 0;
}

/* Whether a provider of run time can have this name: 0, or -EINVAL and the rule in `why`.
 * pyusdt_provider_define() asks this, too. */
int pyusdt_provider_check(const char *provider, struct pyusdt_error *why);

/* Makes the n probes of a provider: an object in the user's cache that every USDT tracer can read,
 * loaded now and never unloaded, and entries in the table that the embedded engine reads. The same
 * call gives the same object in every process of the user, so a tracer can attach to its file
 * before the process starts. *path (size bytes) is that file's, or "". 0, with the sites filled in;
 * if there can be no object, `why` has the reason (else its message is empty) and only the embedded
 * engine has the probes. A repeated call gets the same. -EINVAL: an invalid name or type; -EEXIST:
 * a probe of that name has other arguments; -ENOMEM: `why` is the message for the user. */
int pyusdt_provider_define(const char *provider, const struct pyusdt_probe_def *probes, unsigned n,
                           struct pyusdt_probe_site *sites, char *path, size_t size,
                           struct pyusdt_error *why);

/* USDT sites only, for n probes that are in the table from index `first` on: the object has a
 * provider of this name, and the table has none. For tracers other than pydtrace: the same provider
 * in both would be seen twice. Otherwise as pyusdt_provider_define(), but each call makes the sites
 * anew; once a process. */
int pyusdt_sites_define(const char *provider, const struct pyusdt_probe_def *probes, unsigned first,
                        unsigned n, struct pyusdt_probe_site *sites, char *path, size_t size,
                        struct pyusdt_error *why);

/* Hits a site of pyusdt_provider_define(): values are PYUSDT_MAX_ARGS words, of an argument's
 * size and sign each. */
void pyusdt_site_call(void (*entry)(void), const uint64_t *values);

/* ---- an event that is being made ---- */

/* The demand is found before a value is converted: an unread argument needs no value. */
struct pyusdt_firing {
    unsigned probe;
    int attached;    /* a USDT tracer is: it may read everything */
    uint32_t demand; /* of the embedded sessions */
    uint32_t reads;  /* bit i: a tracer reads argument i */
    struct pyusdt_args args;
};

/* 0: no tracer wants it. No values are set yet, not even absent ones. */
static inline int pyusdt_firing_begin(struct pyusdt_firing *firing, unsigned probe, int attached)
{
    firing->probe = probe;
    firing->attached = attached;
    firing->demand = pyusdt_wanted(probe) ? pyusdt_demand(probe) : 0;
    firing->reads = attached ? ~0u : firing->demand;
    firing->args.missing = ~firing->reads;
    firing->args.nframes = 0;
    return firing->reads != 0;
}

/* The same of a probe of run time. */
static inline int pyusdt_firing_begin_at(struct pyusdt_firing *firing,
                                         const struct pyusdt_probe_site *site)
{
    return pyusdt_firing_begin(firing, site->index,
                               __atomic_load_n(site->semaphore, __ATOMIC_RELAXED) != 0);
}

static inline int pyusdt_firing_wants_stack(const struct pyusdt_firing *firing)
{
    return __builtin_expect((firing->demand & PYUSDT_DEMAND_STACK) != 0, 0);
}

/* To the rings, with the stack if a session wants it. */
static inline void pyusdt_firing_fire(const struct pyusdt_firing *firing)
{
    if (pyusdt_firing_wants_stack(firing))
        pyusdt_fire_with_stack(firing->probe, 0, ~0ull, &firing->args);
    else if (firing->demand != 0)
        pyusdt_fire(firing->probe, &firing->args);
}

static inline int pyusdt_firing_reads(const struct pyusdt_firing *firing, unsigned arg)
{
    return (firing->reads >> arg & 1) != 0;
}

/* length: the result of pyusdt_text_length(); address NULL: absent. */
static inline void pyusdt_firing_text(struct pyusdt_firing *firing, unsigned arg,
                                      const void *address, uint32_t length)
{
    firing->args.value[arg] = (uintptr_t)address;
    firing->args.length[arg] = length;
}

/* The arguments from `first` on are absent. (A site takes all that there can be.) Not by
 * clearing the whole struct first: the string instruction that compilers make of that costs a
 * twentieth of an event. */
static inline void pyusdt_firing_no_more(struct pyusdt_firing *firing, unsigned first)
{
    for (unsigned arg = first; arg < PYUSDT_MAX_ARGS; arg++) {
        firing->args.value[arg] = 0;
        firing->args.length[arg] = 0;
    }
}

/* To all tracers that want it, at the site of a probe that was defined at run time and in the
 * rings. (For sites that an object carries: target/sites.h.) */
static inline void pyusdt_firing_offer_at(const struct pyusdt_firing *firing,
                                          const struct pyusdt_probe_site *site)
{
    if (firing->attached && site->entry)
        pyusdt_site_call(site->entry, firing->args.value);
    pyusdt_firing_fire(firing);
}

/* The number of these bytes that an event holds: up to the first NUL, PYUSDT_MAX_STRING at most,
 * truncated on a character boundary if they are UTF-8. */
uint32_t pyusdt_text_length(const char *text, size_t size);

/* An integer as the argument of a type: modulo 2^(8 * size), extended to 64 bits. */
static inline uint64_t pyusdt_integer_bits(uint64_t value, unsigned type)
{
    unsigned unused = 64 - 8 * PYUSDT_TYPE_SIZE(type);

    value <<= unused;
    return (type & PYUSDT_KIND) == PYUSDT_INT ? (uint64_t)((int64_t)value >> unused)
                                              : value >> unused;
}

/* A floating-point number as the argument of a type. */
static inline uint64_t pyusdt_float_bits(double value, unsigned type)
{
    float narrow = (float)value;
    uint32_t narrow_bits;
    uint64_t bits;

    if (PYUSDT_TYPE_SIZE(type) == sizeof narrow) {
        __builtin_memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        return narrow_bits;
    }
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* ---- names ---- */

/* DTrace's globs: * ? [a-z] [!a-z] \x; an empty pattern matches everything. 1 or 0. */
int pyusdt_glob(const char *pattern, const char *string);

/* The rule between the name in a probe's note (`user_trace__i4s4`) and D's (`user_trace-i4s4`):
 * `__` <-> `-`. Writes at most size bytes with the NUL; returns the length, or -ENAMETOOLONG. */
int pyusdt_probe_name(const char *note, char *name, size_t size);
int pyusdt_note_name(const char *name, char *note, size_t size);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
