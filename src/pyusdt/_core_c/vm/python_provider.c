/*
 * The provider `python`: its probes, and which of its parts are on (see python_provider.h).
 *
 * - The core's watcher calls when tracing begins or ends. Its thread then takes the GIL and
 *   switches the parts.
 * - The watcher's thread stops around os.fork(), because a forked child begins with one thread, and
 *   CPython warns about more in the parent from 3.12 on. It ends before the interpreter does.
 * - After a fork() in C, the child starts the thread again when its main thread runs Python code.
 */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"

#include "_core_c/heap_hooks.h"
#include "_core_c/vm/exception_recorder.h"
#include "_core_c/vm/session_values.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "shared/os.h"

#define TEXT(n) (1u << (n))

#define SITES \
    "pyvm" /* the provider of the USDT sites: no pattern for python* or pyusdt* takes it */

/* file, function, line, and everything behind */
#define LOCATION (TEXT(0) | TEXT(1))

/* since: the minor version of CPython that it is there from */
static const struct {
    const char *name;
    uint32_t strings, nargs;
    int since;
} probes[PYUSDT_VM_PROBES] = {
    [PYUSDT_VM_FUNCTION_ENTRY] = {"function-entry", LOCATION, 4, 10},
    [PYUSDT_VM_FUNCTION_RETURN] = {"function-return", LOCATION, 4, 10},
    [PYUSDT_VM_LINE] = {"line", LOCATION, 3, 10},
    [PYUSDT_VM_EXCEPTION_RAISE] = {"exception-raise", LOCATION | TEXT(3) | TEXT(4), 5, 10},
    [PYUSDT_VM_EXCEPTION_HANDLED] = {"exception-handled", LOCATION | TEXT(3) | TEXT(4), 5, 12},
    [PYUSDT_VM_C_FUNCTION_ENTRY] = {"c-function-entry", LOCATION, 3, 10},
    [PYUSDT_VM_C_FUNCTION_RETURN] = {"c-function-return", LOCATION, 4, 10},
    [PYUSDT_VM_GC_START] = {"gc-start", 0, 1, 10},
    [PYUSDT_VM_GC_DONE] = {"gc-done", 0, 1, 10},
    [PYUSDT_VM_IMPORT_START] = {"import-find-load-start", TEXT(0), 1, 10},
    [PYUSDT_VM_IMPORT_DONE] = {"import-find-load-done", TEXT(0), 2, 10},
    [PYUSDT_VM_THREAD_START] = {"thread-start", TEXT(0), 2, 10},
    [PYUSDT_VM_THREAD_STOP] = {"thread-stop", TEXT(0), 2, 10},
    [PYUSDT_VM_TASK_CREATE] = {"task-create", TEXT(1) | TEXT(2), 3, 10},
    [PYUSDT_VM_TASK_RUN] = {"task-run", TEXT(1) | TEXT(2), 3, 10},
    [PYUSDT_VM_TASK_SUSPEND] = {"task-suspend", TEXT(1) | TEXT(2) | TEXT(3) | TEXT(4), 5, 10},
    [PYUSDT_VM_TASK_DONE] = {"task-done", TEXT(1) | TEXT(2) | TEXT(4), 6, 10},
    [PYUSDT_VM_ALLOC] = {"alloc", TEXT(0), 3, 13},
    [PYUSDT_VM_FREE] = {"free", TEXT(0), 3, 14},
    [PYUSDT_VM_AUDIT] = {"audit", TEXT(0), 1, 10},
};

/* Of the process: the provider is published once. */
unsigned pyusdt_vm_indexes[PYUSDT_VM_PROBES];
static unsigned first, published;
static struct pyusdt_probe_site sites[PYUSDT_VM_PROBES]; /* in the table's order */
static char sites_path[4096];                            /* of their object; "": none */
uint32_t pyusdt_vm_attached;

/* Of the main interpreter. */
static const char *reasons[PYUSDT_VM_REASONS]; /* the unavailable parts, for a person; or NULL */
static struct pyusdt_watch watch;
static int enabled; /* by the program, which forks may interrupt */
static int watching;
static unsigned pauses; /* blocks, forks among them, that no thread of pyusdt's may run in */
/* of them those that do not end: the program has set seccomp filters for one thread */
static unsigned filtered;
static int is_pending; /* restart_watch() */
static __thread int is_forking, has_gil_mutex;

/* ---- publishing ---- */

static int is_available(enum pyusdt_pyvm_probe probe, int with_audit)
{
    return probes[probe].since <= PY_MINOR_VERSION && (probe != PYUSDT_VM_AUDIT || with_audit);
}

static struct pyusdt_probe_desc describe_probe(enum pyusdt_pyvm_probe probe)
{
    return (struct pyusdt_probe_desc){.provider = "python",
                                      .module = "",
                                      .function = "",
                                      .name = probes[probe].name,
                                      .strings = probes[probe].strings,
                                      .nargs = probes[probe].nargs,
                                      .places = probe < PYUSDT_VM_PLACE_PROBES};
}

/* The same for USDT tracers, which know of no places: their module is one more argument. */
static struct pyusdt_probe_def define_probe(enum pyusdt_pyvm_probe probe)
{
    struct pyusdt_probe_def def = {.name = probes[probe].name, .nargs = probes[probe].nargs};

    for (unsigned i = 0; i < def.nargs; i++)
        def.type[i] = probes[probe].strings & TEXT(i) ? PYUSDT_STRING : PYUSDT_INT | 8;
    if (probe < PYUSDT_VM_PLACE_PROBES)
        def.type[def.nargs++] = PYUSDT_STRING;
    return def;
}

/* If there can be none (no cache for the object, no USDT on this system), the embedded engine has
 * the probes all the same. */
static void make_sites(const struct pyusdt_probe_def *defs, int with_sites)
{
    static const uint16_t nobody;
    struct pyusdt_error why;

    if (with_sites && pyusdt_sites_define(SITES, defs, first, published, sites, sites_path,
                                          sizeof sites_path, &why) == 0)
        return;
    for (unsigned i = 0; i < published; i++)
        sites[i] = (struct pyusdt_probe_site){.index = first + i, .semaphore = &nobody};
}

/* 0 or -1 with an exception. */
static int publish_provider(int with_audit, int with_sites)
{
    struct pyusdt_probe_desc table[PYUSDT_VM_PROBES];
    struct pyusdt_probe_def defs[PYUSDT_VM_PROBES];
    unsigned n = 0;
    int r;

    for (enum pyusdt_pyvm_probe probe = 0; probe < PYUSDT_VM_PROBES; probe++)
        if (is_available(probe, with_audit)) {
            defs[n] = define_probe(probe);
            table[n++] = describe_probe(probe);
        }
    pyusdt_vm_paths_start();
    r = pyusdt_publish_more(table, n);
    if (r < 0) {
        PyErr_Format(PyExc_OSError, "the provider python cannot be published: %s", strerror(-r));
        return -1;
    }
    first = (unsigned)r;
    published = n;
    make_sites(defs, with_sites);
    for (enum pyusdt_pyvm_probe probe = 0; probe < PYUSDT_VM_PROBES; probe++)
        if (is_available(probe, with_audit))
            pyusdt_vm_indexes[probe] = (unsigned)r++;
    return 0;
}

/* ---- USDT tracers ---- */

static const struct pyusdt_probe_site *find_site(enum pyusdt_pyvm_probe probe)
{
    return &sites[pyusdt_vm_indexes[probe] - first];
}

static uint32_t read_attached(void)
{
    uint32_t attached = 0;

    for (enum pyusdt_pyvm_probe probe = 0; probe < PYUSDT_VM_PROBES; probe++)
        if (pyusdt_vm_indexes[probe] != 0 &&
            __atomic_load_n(find_site(probe)->semaphore, __ATOMIC_RELAXED) != 0)
            attached |= PYUSDT_VM_BIT(probe);
    return attached;
}

int pyusdt_vm_firing_begin(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe)
{
    return pyusdt_firing_begin(firing, pyusdt_vm_index(probe), pyusdt_vm_is_attached(probe));
}

void pyusdt_vm_firing_offer(const struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe)
{
    pyusdt_firing_offer_at(firing, find_site(probe));
}

void pyusdt_vm_hit_site(struct pyusdt_firing *firing, enum pyusdt_pyvm_probe probe,
                        const char *module)
{
    void (*entry)(void) = find_site(probe)->entry;

    firing->args.value[probes[probe].nargs] = (uintptr_t)module;
    if (entry != NULL)
        pyusdt_site_call(entry, firing->args.value);
}

/* ---- switching ---- */

static uint32_t read_wanted(void)
{
    uint32_t wanted = 0;

    for (enum pyusdt_pyvm_probe probe = 0; probe < PYUSDT_VM_PROBES; probe++)
        if (pyusdt_vm_indexes[probe] != 0 && pyusdt_wanted(pyusdt_vm_index(probe)) &&
            pyusdt_demand_at(pyusdt_vm_index(probe), PYUSDT_VM_TRACERS) != 0)
            wanted |= PYUSDT_VM_BIT(probe);
    return wanted;
}

const char pyusdt_vm_code_names[] =
    "function-entry function-return line exception-raise exception-handled c-function-entry c-function-return";

/* The names of these probes with blanks between them. */
static void join_names(uint32_t set, char *names, size_t size)
{
    size_t used = 0;

    names[0] = '\0';
    for (enum pyusdt_pyvm_probe probe = 0; probe < PYUSDT_VM_PROBES; probe++)
        if ((set & PYUSDT_VM_BIT(probe)) != 0 && used < size)
            used += (size_t)snprintf(names + used, size - used, "%s%s", used ? " " : "",
                                     probes[probe].name);
}

/* Sessions get the process's remarks. USDT tracers have none: for them the text is written once to
 * the program's standard error. */
void pyusdt_vm_set_reason(enum pyusdt_remark_slot part, uint32_t set, const char *why)
{
    static uint32_t unreported; /* parts whose remark could not be set */
    char names[PYUSDT_PLACE_FUNCTION + 1];
    int is_new = reasons[part] != why;

    if (!is_new && (unreported & 1u << part) == 0)
        return;
    __atomic_store_n(&reasons[part], why, __ATOMIC_RELAXED);
    join_names(set, names, sizeof names);
    unreported &= ~(1u << part);
    if (pyusdt_remark_set(part, "python", names, why, PYUSDT_REMARK_LACK) != 0)
        unreported |= 1u << part;
    if (is_new && why != NULL && (pyusdt_vm_attached & set) != 0)
        PySys_WriteStderr("pyusdt: python: %s\n", why);
}

#define CODE_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_PLACE_PROBES) - 1)

static uint32_t applied; /* the probes that are on */

/* The newest interpreter is the first of all.  Needs no lock: nothing of an interpreter is read. */
static int has_sub_interpreters(void)
{
    return PyInterpreterState_Head() != PyInterpreterState_Main();
}

/* A tool that has come stays reported while the probes are on, since the code that it ran was not
 * seen. */
static void report_sub_interpreters(void)
{
    if ((applied & CODE_PROBES) == 0)
        pyusdt_vm_set_reason(PYUSDT_VM_REASON_INTERPRETERS, CODE_PROBES, NULL);
    else if (has_sub_interpreters())
        pyusdt_vm_set_reason(
            PYUSDT_VM_REASON_INTERPRETERS, CODE_PROBES,
            "there are sub-interpreters: there are no events of functions, lines and exceptions in them");
}

/* ---- without a tracer ---- */

static _Atomic uint64_t unused_after; /* nanoseconds without a tracer; 0: nothing is called */
static PyObject *_Atomic unused_call; /* (function, args), called once; who takes it out has it */
static uint64_t unused_since;         /* of the watcher's thread; 0: there is a tracer */

/* On the watcher's thread. */
static int is_unused_for_long(void)
{
    uint64_t after = atomic_load(&unused_after), now = pyusdt_now();

    if (after == 0 || pyusdt_count_sessions() != 0 || read_attached() != 0 || pyusdt_heap_is_on())
        unused_since = 0;
    else if (unused_since == 0)
        unused_since = now;
    return unused_since != 0 && now - unused_since >= after;
}

/* The same, with the GIL.  An exception has no one to go to: the function is pyusdt's. */
static void call_when_unused(void)
{
    uint64_t after = atomic_load(&unused_after);
    PyObject *call, *result;

    if (!is_unused_for_long() || !atomic_compare_exchange_strong(&unused_after, &after, 0))
        return;
    unused_since = 0;
    call = atomic_exchange(&unused_call, NULL);
    if (call == NULL)
        return;
    result = PyObject_Call(PyTuple_GET_ITEM(call, 0), PyTuple_GET_ITEM(call, 1), NULL);
    if (result == NULL)
        PyErr_Clear();
    Py_XDECREF(result);
    Py_DECREF(call);
}

/* vm_when_unused(seconds, function, args) */
static PyObject *vm_when_unused(PyObject *Py_UNUSED(self), PyObject *given)
{
    PyObject *function, *args, *call = NULL;
    double seconds;

    if (!PyArg_ParseTuple(given, "dOO!", &seconds, &function, &PyTuple_Type, &args))
        return NULL;
    if (seconds > 0 && (call = PyTuple_Pack(2, function, args)) == NULL)
        return NULL;
    atomic_store(&unused_after, 0);
    call = atomic_exchange(&unused_call, call);
    Py_XDECREF(call);
    atomic_store(&unused_after, seconds > 0 ? (uint64_t)(seconds * 1e9) : 0);
    Py_RETURN_NONE;
}

/* On the watcher's thread. */
static int must_check(void)
{
    int are_on = (__atomic_load_n(&applied, __ATOMIC_RELAXED) & CODE_PROBES) != 0;
    int is_reported =
        __atomic_load_n(&reasons[PYUSDT_VM_REASON_INTERPRETERS], __ATOMIC_RELAXED) != NULL;

    return (are_on && !is_reported && has_sub_interpreters()) || pyusdt_vm_code_must_check() ||
           pyusdt_vm_paths_must_explain() || is_unused_for_long();
}

/* As long as the provider is enabled. */
static int keeps_exceptions(void)
{
    return enabled && pyusdt_exceptions_are_kept();
}

/* With the GIL: the demand of sessions and of USDT tracers. */
static void apply_demand(uint32_t wanted, uint32_t attached)
{
    static uint32_t generation;
    uint32_t now = pyusdt_places_generation();
    uint32_t kept = keeps_exceptions() ? PYUSDT_VM_KEEPS_EXCEPTIONS : 0;

    __atomic_store_n(&pyusdt_vm_attached, attached, __ATOMIC_RELEASE);
    wanted |= attached;
    __atomic_store_n(&applied, wanted, __ATOMIC_RELAXED);
    report_sub_interpreters();
    pyusdt_vm_paths_prepare();
    pyusdt_vm_paths_explain();
    pyusdt_vm_hooks_set(wanted | kept);
    pyusdt_vm_memory_set(wanted);
    pyusdt_vm_code_set((wanted & CODE_PROBES) | kept, now != generation);
    generation = now;
}

/* ---- the watcher's thread ---- */

/* The thread keeps one PyThreadState from its first call to its end. PyGILState_Ensure()
 * allocates a new one, and PyGILState_Release() frees it, without the GIL. While the main thread
 * begins or ends the interpreter it puts another raw allocator in place for a moment
 * (_PyPathConfig_UpdateGlobal() after `site`), and with -X dev the process aborts when one
 * allocator frees what the other allocated. So both are done while the thread that starts or
 * stops the watcher waits. */
static PyThreadState *watcher_state; /* of the watcher's thread */
static _Atomic uint32_t has_begun;   /* it has its state */

/* Held by the watcher's thread while it waits for the GIL or has it, and around fork(). */
static pthread_mutex_t gil_mutex = PTHREAD_MUTEX_INITIALIZER;

enum { BEGIN_MS = 1000 };     /* how long the starter waits: a debugger may hold the thread */
enum { GIL_MUTEX_MS = 1000 }; /* and a fork, for the same reason */
enum { END_MS = 100 };        /* and the end: the watcher may never continue */

static int lock_gil_mutex(int64_t milliseconds)
{
    struct timespec end;

    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += milliseconds % 1000 * 1000000;
    end.tv_sec += milliseconds / 1000 + end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    return pthread_mutex_timedlock(&gil_mutex, &end) == 0;
}

static atomic_int has_ended; /* the interpreter: nothing of it is used any more */

/* 1: with the GIL, and `gil_mutex`. */
static int enter_interpreter(PyGILState_STATE *state)
{
    pthread_mutex_lock(&gil_mutex);
    if (!atomic_load(&has_ended) && Py_IsInitialized()) {
        *state = PyGILState_Ensure();
        return 1;
    }
    pthread_mutex_unlock(&gil_mutex);
    return 0;
}

static void leave_interpreter(PyGILState_STATE state)
{
    PyGILState_Release(state);
    pthread_mutex_unlock(&gil_mutex);
}

static void on_changed(void *unused)
{
    PyGILState_STATE state;

    (void)unused;
    if (!__atomic_load_n(&watching, __ATOMIC_ACQUIRE) || !enter_interpreter(&state))
        return;
    if (watcher_state == NULL)
        PyGILState_Ensure();
    watcher_state = PyGILState_GetThisThreadState();
    atomic_store(&has_begun, 1);
    pyusdt_os_word_wake(&has_begun);
    apply_demand(read_wanted(), read_attached());
    call_when_unused();
    leave_interpreter(state);
}

static void on_ended(void)
{
    PyGILState_STATE state;

    if (watcher_state == NULL || !enter_interpreter(&state))
        return;
    PyGILState_Release(PyGILState_LOCKED); /* which the first `changed` has stored */
    watcher_state = NULL;
    leave_interpreter(state);
}

/* The interpreter ends, and its memory is about to be freed. The watcher may still run: a tracer
 * that attaches while exit functions run registers vm_shut_down() too late. A watcher that waits
 * for the GIL ends there, with `gil_mutex`, or waits for ever. */
static void on_end_of_interpreter(PyObject *Py_UNUSED(capsule))
{
    atomic_store(&has_ended, 1);
    if (lock_gil_mutex(END_MS))
        pthread_mutex_unlock(&gil_mutex);
    watcher_state = NULL;
}

/* Its dict is emptied after the last Python code, and before its threads' states are freed. */
static int follow_end_of_interpreter(void)
{
    PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
    PyObject *key = PyLong_FromVoidPtr(&has_ended), *capsule = NULL;
    int r = dict == NULL || key == NULL ? -1 : PyDict_Contains(dict, key);

    if (r == 0) {
        capsule = PyCapsule_New(&has_ended, NULL, on_end_of_interpreter);
        r = capsule == NULL ? -1 : PyDict_SetItem(dict, key, capsule);
        if (r == 0)
            atomic_store(&has_ended, 0);
    }
    Py_XDECREF(capsule);
    Py_XDECREF(key);
    if (r < 0 && !PyErr_Occurred())
        PyErr_NoMemory();
    return r;
}

/* ---- beginning and end ---- */

static int start_watch(void)
{
    int r;

    if (watching)
        return 0;
    watch = (struct pyusdt_watch){.changed = on_changed,
                                  .n = published,
                                  .sites = sites,
                                  .must_look = must_check,
                                  .ended = on_ended};
    atomic_store(&has_begun, 0);
    __atomic_store_n(&watching, 1, __ATOMIC_RELEASE);
    r = pyusdt_watch_start(&watch);
    if (r < 0) {
        __atomic_store_n(&watching, 0, __ATOMIC_RELEASE);
        return r;
    }
    Py_BEGIN_ALLOW_THREADS if (atomic_load(&has_begun) == 0)
        pyusdt_os_word_wait(&has_begun, 0, BEGIN_MS);
    Py_END_ALLOW_THREADS return 0;
}

static void stop_watch(void)
{
    if (!__atomic_exchange_n(&watching, 0, __ATOMIC_ACQ_REL))
        return;
    Py_BEGIN_ALLOW_THREADS pyusdt_watch_stop(&watch);
    Py_END_ALLOW_THREADS
}

/* A pending call: outside of fork(), which has counted the threads by then. */
static int restart_watch(void *unused)
{
    (void)unused;
    is_pending = 0;
    if (enabled && __atomic_load_n(&pauses, __ATOMIC_ACQUIRE) == 0)
        start_watch();
    return 0;
}

/* ---- fork() in C ---- */

#if PY_VERSION_HEX >= 0x030d0000
extern const uint64_t _PyRuntime[]; /* begins with _Py_DebugOffsets */
enum {
    HEAD_WORD = 5,
    LOOKS = 100
}; /* that says where the list of interpreters is, behind its lock */
#endif

/* An os.fork() that had begun before enable(), in another thread: it did not call vm_pause(). From 3.13
 * on it has the lock of the interpreters here, and another thread that gets the GIL would wait for
 * that lock and keep the GIL. The child needs nothing: Python makes its locks anew. Another thread
 * holds that lock for a moment only. */
static int is_os_fork(void)
{
#if PY_VERSION_HEX >= 0x030d0000
    const char *lock = (const char *)_PyRuntime + _PyRuntime[HEAD_WORD] - sizeof(uint64_t);

    for (int i = 0; i < LOOKS; i++) {
        if ((__atomic_load_n(lock, __ATOMIC_ACQUIRE) & 1) == 0)
            return 0;
        sched_yield();
    }
    return 1;
#else
    return 0;
#endif
}

/* uWSGI, mod_wsgi and others fork without os.fork(), and never call PyOS_AfterFork_Child(). The
 * child has the watcher's PyThreadState, but not its thread. A pending call starts another; it runs
 * with the first Python code of the child's main thread. The parent adds it before the fork,
 * because another thread may hold the lock of the pending calls at the fork, and no thread would
 * release it in the child. The same is true of the GIL's lock while the watcher waits for the GIL;
 * so the fork takes `gil_mutex` first. */
static void before_fork(void)
{
    PyThreadState *holder;

    is_forking =
        __atomic_load_n(&watching, __ATOMIC_ACQUIRE); /* else os.fork() has called vm_pause() */
    has_gil_mutex = 0;
    if (!is_forking || is_os_fork())
        return;
    if (!__atomic_exchange_n(&is_pending, 1, __ATOMIC_ACQ_REL) &&
        Py_AddPendingCall(restart_watch, NULL) < 0)
        is_pending = 0;
    has_gil_mutex = pthread_mutex_trylock(&gil_mutex) == 0;
    if (has_gil_mutex)
        return;
    holder = PyGILState_GetThisThreadState();
    holder = holder == _PyThreadState_UncheckedGet() ? holder : NULL;
    if (holder != NULL)
        PyEval_SaveThread();
    has_gil_mutex = lock_gil_mutex(GIL_MUTEX_MS);
    if (holder != NULL)
        PyEval_RestoreThread(holder);
}

static void after_fork_in_parent(void)
{
    if (is_forking && has_gil_mutex)
        pthread_mutex_unlock(&gil_mutex);
}

static void after_fork_in_child(void)
{
    if (!is_forking)
        return;
    pthread_mutex_init(&gil_mutex, NULL);
    /* left as it is: from 3.12 on PyThreadState_Delete() takes the calling thread's PyGILState,
     * too */
    watcher_state = NULL;
    watching = 0;
}

static int handle_forks(void)
{
    static int r = -1;

    return r == 0 ? 0
                  : (r = -pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child));
}

/* ---- for pyusdt.vm ---- */

static const char has_filter[] =
    "the program has set a seccomp filter for one thread, so pyusdt's watcher has ended";

/* Remarks for the tracers, by parts so that the names fit. */
static void set_reason_of_all(const char *why)
{
    const uint32_t all = PYUSDT_VM_BIT(PYUSDT_VM_PROBES) - 1,
                   code = PYUSDT_VM_BIT(PYUSDT_VM_PLACE_PROBES) - 1;
    const uint32_t memory = PYUSDT_VM_BIT(PYUSDT_VM_GC_START) | PYUSDT_VM_BIT(PYUSDT_VM_GC_DONE) |
                            PYUSDT_VM_BIT(PYUSDT_VM_ALLOC) | PYUSDT_VM_BIT(PYUSDT_VM_FREE) |
                            PYUSDT_VM_BIT(PYUSDT_VM_AUDIT);

    pyusdt_vm_set_reason(PYUSDT_VM_REASON_CODE, code, why);
    pyusdt_vm_set_reason(PYUSDT_VM_REASON_MEMORY, memory, why);
    pyusdt_vm_set_reason(PYUSDT_VM_REASON_TASKS, all & ~code & ~memory, why);
}

/* On the caller's thread, and not while the watcher does the same: without the GIL the caller would
 * return before what the watcher sets is set. If the watcher does not answer (a debugger may hold
 * it): only if it must be. */
static void apply_demand_alone(int must_be)
{
    PyThreadState *thread = PyEval_SaveThread();
    int is_locked = lock_gil_mutex(GIL_MUTEX_MS);

    PyEval_RestoreThread(thread);
    if ((is_locked || must_be) && enabled)
        apply_demand(read_wanted(), read_attached());
    if (is_locked)
        pthread_mutex_unlock(&gil_mutex);
}

/* vm_start(audit, sites) */
static PyObject *vm_start(PyObject *Py_UNUSED(self), PyObject *args)
{
    int with_audit, with_sites, r;

    if (!PyArg_ParseTuple(args, "pp", &with_audit, &with_sites))
        return NULL;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "the provider python is of the main interpreter, not of a sub-interpreter");
        return NULL;
    }
    if (follow_end_of_interpreter() < 0 || pyusdt_vm_code_start() < 0 ||
        (!published && publish_provider(with_audit, with_sites) < 0))
        return NULL;
    if (with_audit && pyusdt_vm_indexes[PYUSDT_VM_AUDIT] == 0) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "audit events are there only where the first enable() of a process asks for them");
        return NULL;
    }
    enabled = 1;
    r = handle_forks();
    if (r == 0 && __atomic_load_n(&pauses, __ATOMIC_ACQUIRE) == 0)
        r = start_watch();
    if (r < 0)
        return PyErr_Format(PyExc_OSError, "nothing can be watched: %s", strerror(-r));
    apply_demand_alone(1); /* a session that already traces sees the next call */
    if (filtered != 0)
        set_reason_of_all(has_filter);
    Py_RETURN_NONE;
}

static PyObject *vm_pause(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    __atomic_add_fetch(&pauses, 1, __ATOMIC_ACQ_REL);
    stop_watch();
    Py_RETURN_NONE;
}

static PyObject *vm_shut_down(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    enabled = 0; /* a fork in an exit function that runs after this one starts nothing again */
    pyusdt_vm_code_end();
    stop_watch();
    Py_RETURN_NONE;
}

static PyObject *vm_resume(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    unsigned before = __atomic_load_n(&pauses, __ATOMIC_ACQUIRE);

    /* 0: an os.fork() that had begun before enable() did not pause */
    while (before != 0 && !__atomic_compare_exchange_n(&pauses, &before, before - 1, false,
                                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    if (before > 1)
        Py_RETURN_NONE;
    if (Py_AddPendingCall(restart_watch, NULL) <
        0) /* there are 32 already: this one is as good as they are */
        restart_watch(NULL);
    Py_RETURN_NONE;
}

/* Before the program sets a seccomp filter for one thread. After it nothing is called, since the
 * filter may kill the program. */
static PyObject *vm_pause_for_filter(PyObject *self, PyObject *unused)
{
    filtered++;
    if (enabled)
        set_reason_of_all(has_filter);
    return vm_pause(self, unused);
}

/* The filter could not be set. */
static PyObject *vm_undo_filter(PyObject *self, PyObject *unused)
{
    filtered--;
    if (enabled && filtered == 0)
        set_reason_of_all(NULL); /* missing parts are looked up again */
    return vm_resume(self, unused);
}

static PyObject *vm_stop(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    enabled = 0;
    stop_watch();
    apply_demand(0, 0);
    Py_RETURN_NONE;
}

/* For one that has begun to trace its own process. */
static PyObject *vm_apply_demand(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    apply_demand_alone(0);
    return PyBool_FromLong(enabled);
}

/* vm_keep_exceptions(tag_variable) */
static PyObject *vm_keep_exceptions(PyObject *Py_UNUSED(self), PyObject *tag_variable)
{
    if (pyusdt_exceptions_start(tag_variable) < 0)
        return NULL;
    apply_demand(read_wanted(), read_attached());
    Py_RETURN_NONE;
}

static PyObject *vm_is_first(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    static int was_asked;

    return PyBool_FromLong(!__atomic_exchange_n(&was_asked, 1, __ATOMIC_ACQ_REL));
}

static PyObject *vm_sessions(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    return PyLong_FromUnsignedLong(pyusdt_count_sessions() + (pyusdt_heap_is_on() ? 1 : 0));
}

static PyObject *vm_sites(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    return PyUnicode_DecodeFSDefault(sites_path);
}

static PyObject *vm_missing_parts(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    for (int part = 0; part < PYUSDT_VM_REASONS; part++)
        if (reasons[part] != NULL)
            return PyUnicode_FromString(reasons[part]);
    return PyUnicode_New(0, 0);
}

/* vm_probes() */
static PyObject *vm_probes(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
    PyObject *names = PyList_New(0);

    for (enum pyusdt_pyvm_probe probe = 0; names != NULL && probe < PYUSDT_VM_PROBES; probe++) {
        PyObject *row = Py_BuildValue("(siN)", probes[probe].name, probes[probe].since,
                                      PyBool_FromLong(probe < PYUSDT_VM_PLACE_PROBES));
        if (row == NULL)
            Py_CLEAR(names);
        if (row != NULL && PyList_Append(names, row) < 0)
            Py_CLEAR(names);
        Py_XDECREF(row);
    }
    return names;
}

static PyMethodDef callables[] = {
    {"vm_start", vm_start, METH_VARARGS,
     "vm_start(audit, sites, /)\n--\n\n"
     "Publish the provider python, and watch whether it is traced.  audit: with the probe audit;\n"
     "sites: with USDT sites, in a file of the user's cache.\n\n"
     "OSError if the process cannot be traced, RuntimeError in a sub-interpreter."},
    {"vm_pause", vm_pause, METH_NOARGS, "vm_pause()\n--\n\nStops the watcher's thread."},
    {"vm_pause_for_filter", vm_pause_for_filter, METH_NOARGS,
     "vm_pause_for_filter()\n--\n\nvm_pause() for ever, with remarks for the tracers."},
    {"vm_undo_filter", vm_undo_filter, METH_NOARGS,
     "vm_undo_filter()\n--\n\nUndoes vm_pause_for_filter()."},
    {"vm_shut_down", vm_shut_down, METH_NOARGS,
     "vm_shut_down()\n--\n\nThe interpreter ends: the watcher's thread stops for ever; tracing stays on."},
    {"vm_resume", vm_resume, METH_NOARGS,
     "vm_resume()\n--\n\nStarts the watcher's thread again, soon."},
    {"vm_stop", vm_stop, METH_NOARGS,
     "vm_stop()\n--\n\nWatches nothing, and sets nothing in the interpreter."},
    {"vm_apply_demand", vm_apply_demand, METH_NOARGS,
     "vm_apply_demand()\n--\n\n"
     "If the provider is on: sessions that trace this process see the next call. Returns whether it is on."},
    {"vm_keep_exceptions", vm_keep_exceptions, METH_O,
     "vm_keep_exceptions(tag_variable, /)\n--\n\n"
     "After vm_start(): keeps the last exceptions in a file of the run directory. Raises OSError if there can\n"
     "be none, RuntimeError if this CPython's values cannot be read."},
    {"vm_is_first", vm_is_first, METH_NOARGS,
     "vm_is_first()\n--\n\nWhether this is the first call in this process."},
    {"vm_sessions", vm_sessions, METH_NOARGS,
     "vm_sessions()\n--\n\nHow many sessions have joined this process; `pyusdt heap` counts as one."},
    {"vm_when_unused", vm_when_unused, METH_VARARGS,
     "vm_when_unused(seconds, function, args, /)\n--\n\n"
     "Calls function(*args) once, on the watcher's thread, when no tracer has been there for so long.\n"
     "seconds: 0: never, which is so before the first call. The last call holds."},
    {"vm_sites", vm_sites, METH_NOARGS,
     "vm_sites()\n--\n\nThe path of the object with the USDT sites, or ''."},
    {"vm_inject_children", pyusdt_vm_inject_children, METH_VARARGS,
     "vm_inject_children(asked, folder, /)\n--\n\n"
     "The provider follows into programs that this one starts, or becomes.  asked: the value of\n"
     "PYUSDT_VM_INTO; folder: that of the sitecustomize that reads it."},
    {"vm_missing_parts", vm_missing_parts, METH_NOARGS,
     "vm_missing_parts()\n--\n\nThe wanted parts that are not available, or ''."},
    {"vm_probes", vm_probes, METH_NOARGS,
     "vm_probes()\n--\n\n[(name, minor version of CPython that has it first, whether it has places)]."},
    {NULL, NULL, 0, NULL},
};

int pyusdt_vm_add_methods(PyObject *module)
{
    return PyModule_AddFunctions(module, callables);
}
