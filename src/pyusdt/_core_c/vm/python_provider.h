/*
 * The provider `python`: what CPython itself does, as probes of every Python program.
 *
 * Events of code have a code location: module, qualified name, file, line. For USDT tracers there
 * are sites of a provider of another name (a distribution's build of CPython has notes of a
 * provider python), with the module as the last argument.
 *
 * - Nothing is set in the interpreter for a probe that no tracer wants.
 * - No exception is raised into the program, none of its code is run for an event, and settings of
 *   other tools stay.
 *
 * The files:
 * python_provider.c  the probes, and which of the parts below are on
 * code_entries.c     an entry for each code object
 * code_interest.c    which sessions want an event at a code object
 * safe_text.c        texts of exceptions and names of C functions
 * monitoring.c       functions, lines, calls of C functions and exceptions by sys.monitoring (from 3.12 on)
 * profile_trace.c    the same by profile and trace functions of C (before 3.12)
 * frame_hook.c       functions only, by a frame hook, which costs less (before 3.12)
 * runtime_events.c   the collector, imports, threads, audit events
 * asyncio_steps.c    asyncio tasks
 * object_events.c    object creation and destruction
 * exception_recorder.c  the last exceptions, kept in a file
 * child_programs.c   other programs that this program starts, or becomes
 */
#ifndef PYUSDT_CORE_PYTHON_PROVIDER_H
#define PYUSDT_CORE_PYTHON_PROVIDER_H

#include <Python.h>

#include "_core_c/remarks.h"
#include "pyusdt.h"

/* In the order of the provider's table; the first ones are of code and have places. */
enum pyusdt_pyvm_probe {
    PYUSDT_VM_FUNCTION_ENTRY,
    PYUSDT_VM_FUNCTION_RETURN,
    PYUSDT_VM_LINE,
    PYUSDT_VM_EXCEPTION_RAISE,
    PYUSDT_VM_EXCEPTION_HANDLED,
    PYUSDT_VM_CODE_PROBES,
    PYUSDT_VM_C_FUNCTION_ENTRY = PYUSDT_VM_CODE_PROBES, /* its places are functions of C */
    PYUSDT_VM_C_FUNCTION_RETURN,
    PYUSDT_VM_PLACE_PROBES,
    PYUSDT_VM_GC_START = PYUSDT_VM_PLACE_PROBES,
    PYUSDT_VM_GC_DONE,
    PYUSDT_VM_IMPORT_START,
    PYUSDT_VM_IMPORT_DONE,
    PYUSDT_VM_THREAD_START,
    PYUSDT_VM_THREAD_STOP,
    PYUSDT_VM_AUDIT,
    PYUSDT_VM_TASK_CREATE,
    PYUSDT_VM_TASK_RUN,
    PYUSDT_VM_TASK_SUSPEND,
    PYUSDT_VM_TASK_DONE,
    PYUSDT_VM_ALLOC,
    PYUSDT_VM_FREE,
    PYUSDT_VM_PROBES,
};

/* arg3 of function-entry and function-return: how a function was entered or left. */
enum pyusdt_vm_entry_kind { PYUSDT_VM_CALL, PYUSDT_VM_RESUME, PYUSDT_VM_THROW };
enum pyusdt_vm_exit { PYUSDT_VM_RETURNED, PYUSDT_VM_YIELDED, PYUSDT_VM_UNWOUND };

#define PYUSDT_VM_BIT(probe) (1u << (probe))
#define PYUSDT_VM_FUNCTIONS \
    (PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_ENTRY) | PYUSDT_VM_BIT(PYUSDT_VM_FUNCTION_RETURN))
#define PYUSDT_VM_C_FUNCTIONS \
    (PYUSDT_VM_BIT(PYUSDT_VM_C_FUNCTION_ENTRY) | PYUSDT_VM_BIT(PYUSDT_VM_C_FUNCTION_RETURN))

/* Beside the probes: exceptions are kept (exception_recorder.h). */
#define PYUSDT_VM_KEEPS_EXCEPTIONS (1u << 31)

/* Tracers, without the flight recorder: nothing is set in the interpreter only for it, since that
 * would be for every call. */
#define PYUSDT_VM_TRACERS ((1ull << PYUSDT_MAX_SESSIONS) - 1)

/* The number of each probe in the process's table; 0: it is not there. */
extern unsigned pyusdt_vm_indexes[PYUSDT_VM_PROBES] __attribute__((visibility("hidden")));

static inline unsigned pyusdt_vm_index(enum pyusdt_pyvm_probe probe)
{
    return pyusdt_vm_indexes[probe];
}

/* Bit of each probe that has a USDT tracer, as of the last time that anything was set. */
extern uint32_t pyusdt_vm_attached __attribute__((visibility("hidden")));

static inline int pyusdt_vm_is_attached(enum pyusdt_pyvm_probe probe)
{
    return (__atomic_load_n(&pyusdt_vm_attached, __ATOMIC_ACQUIRE) & PYUSDT_VM_BIT(probe)) != 0;
}

/* pyusdt_firing_begin() and pyusdt_firing_offer_at() for a probe without places. */
int pyusdt_vm_firing_begin(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe);
void pyusdt_vm_firing_offer(const struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe);

/* At the USDT site only, if there is a tracer. module: NULL, or the place's. */
void pyusdt_vm_hit_site(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe,
                        const char *module);

extern const char pyusdt_vm_code_names[] __attribute__((
    visibility("hidden"))); /* of the probes that have places, with blanks between them */

/* Sets the remark that explains why one of these probes does not fire, or not always; why: a static
 * text, NULL: it does fire. */
void pyusdt_vm_set_reason(enum pyusdt_remark_slot part, uint32_t probes, const char *why);

/* ---- code_entries.c ---- */

struct pyusdt_vm_text {
    const char *address;
    uint32_t length;
};

struct pyusdt_vm_texts {
    struct pyusdt_vm_text function, file, module; /* whose characters follow */
};

/* code_interest.c's, but that a new one is all zeros. */
struct pyusdt_vm_place {
    uint32_t generation;
    uint32_t number; /* the core's number; 0: not asked for yet, or its table is full */
    uint64_t sessions[PYUSDT_VM_PLACE_PROBES];
    /* one block of memory, freed with the entry; NULL until a session wants an event here */
    struct pyusdt_vm_texts *texts;
    char is_storing; /* a thread changes generation and sessions */
    char has_lines;  /* monitoring.c has set LINE only for this code */
    /* its name, from 3.12 on; a reference of the entry's; NULL until a session wants an event
     * here */
    PyObject *module;
    void *stack; /* python_stack.c's: one block of memory, too */
};

/* The place of a code object that is alive; NULL: no memory. */
struct pyusdt_vm_place *pyusdt_vm_code_find(PyCodeObject *code);

#if PY_VERSION_HEX >= 0x030c0000

#define PYUSDT_VM_BUCKET_BITS 15

struct pyusdt_vm_entry {
    struct pyusdt_vm_entry *next;
    PyCodeObject *code; /* NULL: it is free */
    struct pyusdt_vm_place place;
};

extern struct pyusdt_vm_entry *pyusdt_vm_buckets[1 << PYUSDT_VM_BUCKET_BITS]
    __attribute__((visibility("hidden")));

static inline struct pyusdt_vm_entry **pyusdt_vm_bucket(const PyCodeObject *code)
{
    return &pyusdt_vm_buckets[((uintptr_t)code >> 4) * 0x9e3779b97f4a7c15ull >>
                              (64 - PYUSDT_VM_BUCKET_BITS)];
}

/* The same if it is the first of its bucket; else NULL. */
static inline struct pyusdt_vm_place *pyusdt_vm_code_first(const PyCodeObject *code)
{
    struct pyusdt_vm_entry *entry = __atomic_load_n(pyusdt_vm_bucket(code), __ATOMIC_ACQUIRE);

    return __builtin_expect(
               entry != NULL && __atomic_load_n(&entry->code, __ATOMIC_ACQUIRE) == code, 1)
               ? &entry->place
               : NULL;
}

#endif

#if PY_VERSION_HEX >= 0x030c0000

/* The place is in a module of that name, a str. */
void pyusdt_vm_place_set_module(struct pyusdt_vm_place *place, PyObject *module);

/* Calls with each code that has a place. */
void pyusdt_vm_code_each(void (*fn)(void *arg, PyCodeObject *code, struct pyusdt_vm_place *place),
                         void *arg);

/* Whether some tracer wants one of these probes of this code, whose module is known. */
int pyusdt_vm_is_code_wanted(struct pyusdt_vm_place *place, PyCodeObject *code, uint32_t probes);

#endif

/* The entry, immediately if possible. */
static inline struct pyusdt_vm_place *pyusdt_vm_code_place(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030c0000
    struct pyusdt_vm_place *place = pyusdt_vm_code_first(code);

    if (place != NULL)
        return place;
#endif
    return pyusdt_vm_code_find(code);
}

/* 0 or -1 with an exception. */
int pyusdt_vm_code_start(void);

/* ---- code_interest.c ---- */

/* An event of a code object, which is that of the frame that runs. */
struct pyusdt_pyvm_event {
    enum pyusdt_pyvm_probe probe;
    PyCodeObject *code;
    struct pyusdt_vm_place
        *place;          /* NULL: it is looked up. Set by pyusdt_vm_is_wanted_at(), as is */
    uint64_t sessions;   /* the sessions that want it, bit s: session s */
    int line, offset;    /* offset: of the instruction, if line is 0 and must be looked up */
    PyObject *at;        /* the same as an int object, in the place of offset; or NULL */
    uint64_t how;        /* function-entry, function-return */
    PyObject *exception; /* exception-raise, exception-handled */
    PyObject *returned;  /* function-return; NULL: by an exception, which is */
    PyObject *unwinding; /* this one, if it is known */
};

/* Whether some session wants this probe of this code. */
int pyusdt_vm_is_wanted_at(struct pyusdt_pyvm_event *event);

void pyusdt_vm_fire_code(struct pyusdt_pyvm_event *event);

#if PY_VERSION_HEX >= 0x030c0000

enum pyusdt_pyvm_line { PYUSDT_VM_LINE_FIRST, PYUSDT_VM_LINE_GIVEN, PYUSDT_VM_LINE_OF_OFFSET };

/* A kind of event of sys.monitoring, without an exception: its probe, how the function was entered
 * or left, and its line. */
struct pyusdt_pyvm_kind {
    enum pyusdt_pyvm_probe probe;
    uint64_t how;
    /* that of the function, or given by the second argument: itself, or as an instruction's
     * offset */
    enum pyusdt_pyvm_line line;
};

/* Both, for such an event, whose arguments begin with the code. Returns a new reference: None, or
 * `nobody` if it is not wanted. */
PyObject *pyusdt_vm_fire_monitored(const struct pyusdt_pyvm_kind *kind, PyObject *const *args,
                                   PyObject *nobody);

#endif

/* For an instruction, or a line, as sys.monitoring has it. */
int pyusdt_vm_read_offset(PyObject *offset);

/* A call of a function of C, by the code that calls. */
void pyusdt_vm_fire_call(enum pyusdt_pyvm_probe probe, PyObject *callable, PyCodeObject *caller,
                         int offset, uint64_t left);

/* Whether it was raised for the first time, in the frame where this traceback is seen. */
int pyusdt_vm_is_new_exception(PyObject *traceback);

/* Whether an exception, seen in a frame of this code at this instruction, was raised there and
 * does not just pass. */
int pyusdt_vm_is_raised_here(PyObject *traceback, PyCodeObject *code, int offset);

/* ---- safe_text.c ---- */

/* The result of str(); if that would run the program's code, its first argument if that is a text.
 * A new reference, or NULL. */
PyObject *pyusdt_vm_exception_text(PyObject *exception);

/* __module__ and __qualname__ of a function or method of C; new references, or NULL. */
void pyusdt_vm_function_names(PyObject *callable, PyObject **module, PyObject **function);

/* ---- monitoring.c or profile_trace.c ---- */

/* Sets exactly what the wanted probes of code and PYUSDT_VM_KEEPS_EXCEPTIONS need; 0: nothing at
 * all. refresh: patterns have changed. */
void pyusdt_vm_code_set(uint32_t wanted, int refresh);

/* Whether another tool may remove our settings for them without notice, so that they must be
 * checked. Without the GIL. */
int pyusdt_vm_code_must_check(void);

/* The interpreter ends: has another tool taken it? */
void pyusdt_vm_code_end(void);

/* This thread, which has just started. (Before 3.12 only; else nothing.) */
void pyusdt_vm_code_set_thread(void);

/* ---- frame_hook.c, and the parts of profile_trace.c that it needs ---- */

/* Switches to the frame hook for functions' events. */
int pyusdt_vm_frame_hook_set(int wanted);

/* From here on, and until functions are no longer wanted, their events come by profile functions.
 */
void pyusdt_vm_fall_back_to_profile(void);

static inline int pyusdt_vm_is_generator(const PyCodeObject *code)
{
    return (code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) != 0;
}

/* ---- runtime_events.c ---- */

/* Sets the hooks that the wanted probes need, and removes the others. */
void pyusdt_vm_hooks_set(uint32_t wanted);

/* ---- object_events.c ---- */

/* Reports object creation and destruction while one of the wanted probes needs it. */
void pyusdt_vm_memory_set(uint32_t wanted);

/* ---- child_programs.c ---- */

/* vm_inject_children(asked, folder) */
PyObject *pyusdt_vm_inject_children(PyObject *self, PyObject *args);

/* ---- python_provider.c ---- */

/* Adds the callables that pyusdt.vm builds on to the extension. -1 with an exception. */
int pyusdt_vm_add_methods(PyObject *module);

#endif
