/*
 * Events of asyncio tasks: created, running, suspended, done (see python_provider.h).
 *
 * - A task runs in steps, each a call of the event loop's Handle._run. A step is seen once,
 *   whatever chain of coroutines it resumes, and in the same way in every version of CPython.
 * - Event loops with their own handles (uvloop) are not seen. A remark reports that.
 * - No attribute is read by code of the program: names and states are those of asyncio's own class.
 */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"

#include <string.h>

#include "_core_c/convert.h"
#include "_core_c/saved_exception.h"
#include "_core_c/vm/function_patch.h"

#define STEP_PROBES \
    (PYUSDT_VM_BIT(PYUSDT_VM_TASK_RUN) | PYUSDT_VM_BIT(PYUSDT_VM_TASK_SUSPEND) | \
     PYUSDT_VM_BIT(PYUSDT_VM_TASK_DONE))
#define CREATE_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_TASK_CREATE) | PYUSDT_VM_BIT(PYUSDT_VM_TASK_DONE))
#define TEXTS 4
#define MAX_DEPTH 200 /* of a chain of awaits that is followed */

enum end { RETURNED, RAISED, CANCELLED };

/* ---- looking, without running the program's code ---- */

/* An attribute as object.__getattribute__ finds it; new reference, or NULL. */
static PyObject *read_attribute(PyObject *object, const char *name)
{
    PyObject *string = PyUnicode_InternFromString(name);
    PyObject *value = string != NULL ? PyObject_GenericGetAttr(object, string) : NULL;

    Py_XDECREF(string);
    if (value == NULL)
        PyErr_Clear();
    return value;
}

/* The result of a C method, or the attribute if asyncio is the one in Python; new reference, or
 * NULL. */
static PyObject *read_method_or_attribute(PyObject *task, const char *method, const char *name)
{
    PyObject *function = read_attribute(task, method), *value = NULL;

    if (function == NULL || !PyCFunction_Check(function)) {
        value = read_attribute(task, name);
    } else {
        value = PyObject_CallNoArgs(function);
        if (value == NULL)
            PyErr_Clear();
    }
    Py_XDECREF(function);
    return value;
}

static int is_coroutine(PyObject *object)
{
    return object != NULL && (PyCoro_CheckExact(object) || PyGen_CheckExact(object));
}

/* The object for which a coroutine waits; new reference, or NULL. */
static PyObject *find_inner(PyObject *coroutine)
{
    PyObject *next =
        read_attribute(coroutine, PyCoro_CheckExact(coroutine) ? "cr_await" : "gi_yieldfrom");

    if (next != NULL && !is_coroutine(next))
        Py_CLEAR(next);
    return next;
}

/* The innermost of the coroutines that a coroutine waits for; new reference. */
static PyObject *find_innermost(PyObject *coroutine)
{
    PyObject *next;

    Py_INCREF(coroutine);
    for (int depth = 0; depth < MAX_DEPTH && (next = find_inner(coroutine)) != NULL; depth++) {
        Py_DECREF(coroutine);
        coroutine = next;
    }
    return coroutine;
}

/* Its qualified name; of anything but Python's own coroutine, its type's. New reference, or NULL.
 */
static PyObject *read_name(PyObject *coroutine)
{
    if (coroutine == NULL)
        return NULL;
    return is_coroutine(coroutine) ? read_attribute(coroutine, "__qualname__")
                                   : PyUnicode_FromString(Py_TYPE(coroutine)->tp_name);
}

/* ---- asyncio's class ---- */

static PyTypeObject *task_type; /* asyncio.Task, or NULL until it is loaded */

static PyObject *find_module(const char *name)
{
    PyObject *modules = PyImport_GetModuleDict();

    return modules != NULL ? PyDict_GetItemString(modules, name) : NULL;
}

static void find_type(void)
{
    PyObject *tasks = find_module("asyncio.tasks");
    PyObject *type = tasks != NULL && PyModule_Check(tasks)
                         ? PyDict_GetItemString(PyModule_GetDict(tasks), "Task")
                         : NULL;

    if (task_type == NULL && type != NULL && PyType_Check(type))
        task_type = (PyTypeObject *)Py_NewRef(type);
}

/* The task whose step is a handle's callback; new reference, or NULL: another callback. */
static PyObject *find_task(PyObject *handle)
{
    PyObject *callback = read_attribute(handle, "_callback"), *task = NULL;

    if (callback == NULL)
        return NULL;
    if (PyMethod_Check(callback) || PyCFunction_Check(callback))
        Py_XINCREF(task = PyMethod_Check(callback) ? PyMethod_GET_SELF(callback)
                                                   : PyCFunction_GET_SELF(callback));
    else if (strstr(Py_TYPE(callback)->tp_name, "TaskStepMethWrapper") != NULL)
        task = read_attribute(callback, "__self__");
    Py_DECREF(callback);
    if (task != NULL && (task_type == NULL || !PyObject_TypeCheck(task, task_type)))
        Py_CLEAR(task);
    return task;
}

static int is_pending(PyObject *task)
{
    PyObject *state = read_attribute(task, "_state");
    int unfinished = state != NULL && PyUnicode_Check(state) &&
                     PyUnicode_CompareWithASCIIString(state, "PENDING") == 0;

    Py_XDECREF(state);
    return unfinished;
}

/* Its exception, without marking it as retrieved for asyncio; new reference, or NULL. */
static PyObject *read_exception(PyObject *task)
{
    PyObject *exception = read_attribute(task, "_exception");

    if (exception != NULL && !PyExceptionInstance_Check(exception))
        Py_CLEAR(exception);
    return exception;
}

static enum end read_end(PyObject *task, PyObject *exception)
{
    PyObject *state = read_attribute(task, "_state");
    int cancelled = state != NULL && PyUnicode_Check(state) &&
                    PyUnicode_CompareWithASCIIString(state, "CANCELLED") == 0;

    Py_XDECREF(state);
    return cancelled ? CANCELLED : exception != NULL ? RAISED : RETURNED;
}

/* The number of tasks and callbacks that wait for its end. */
static uint64_t count_waiters(PyObject *task)
{
    PyObject *callbacks = read_attribute(task, "_callbacks");
    uint64_t n =
        callbacks != NULL && PyList_Check(callbacks) ? (uint64_t)PyList_GET_SIZE(callbacks) : 0;

    Py_XDECREF(callbacks);
    return n;
}

/* ---- events ---- */

/* arg1 to arg4 if they are texts (owned; NULL: an empty one), arg3 and arg5 of task-done. */
struct task_values {
    PyObject *texts[TEXTS];
    uint64_t end, waiters;
};

/* The large frame, for the texts. */
__attribute__((noinline)) static void offer_task(struct pyusdt_firing *firing,
                                                 enum pyusdt_pyvm_probe probe, PyObject *task,
                                                 const struct task_values *task_values)
{
    struct pyusdt_text_source sources[TEXTS];
    struct pyusdt_string strings[TEXTS];

    pyusdt_firing_no_more(firing, 0);
    firing->args.value[0] = (uintptr_t)task;
    for (int i = 0; i < TEXTS; i++) {
        PyObject *text = task_values->texts[i];
        pyusdt_text_source_open(&sources[i], text != NULL && PyUnicode_Check(text) ? text : NULL);
        pyusdt_string_set(&strings[i], &sources[i]);
        pyusdt_firing_text(firing, (unsigned)i + 1, text != NULL ? strings[i].address : "",
                           text != NULL ? strings[i].length : 0);
    }
    if (probe == PYUSDT_VM_TASK_DONE) {
        firing->args.value[3] = task_values->end;
        firing->args.length[3] = 0;
        firing->args.value[5] = task_values->waiters;
    }
    pyusdt_vm_firing_offer(firing, probe);
    for (int i = 0; i < TEXTS; i++)
        pyusdt_text_source_close(&sources[i]);
}

static void close_values(struct task_values *task_values)
{
    for (int i = 0; i < TEXTS; i++)
        Py_XDECREF(task_values->texts[i]);
}

/* What the task waits for: the name of a task, or the type of another future; new reference, or
 * NULL: it only lets others run. */
static PyObject *read_awaited(PyObject *task)
{
    PyObject *future = read_attribute(task, "_fut_waiter"), *name = NULL;

    if (future != NULL && PyObject_TypeCheck(future, task_type))
        name = read_method_or_attribute(future, "get_name", "_name");
    else if (future != NULL && future != Py_None)
        name = PyUnicode_FromString(Py_TYPE(future)->tp_name);
    Py_XDECREF(future);
    return name;
}

static void read_suspended(struct task_values *task_values, PyObject *task, PyObject *coroutine)
{
    PyObject *waits = is_coroutine(coroutine) ? find_innermost(coroutine) : NULL;

    task_values->texts[2] = read_name(waits);
    task_values->texts[3] = read_awaited(task);
    Py_XDECREF(waits);
}

static void read_done(struct task_values *task_values, PyObject *task)
{
    PyObject *exception = read_exception(task);

    task_values->end = read_end(task, exception);
    task_values->texts[3] =
        exception != NULL ? PyUnicode_FromString(Py_TYPE(exception)->tp_name) : NULL;
    Py_XDECREF(exception);
}

static void fire_task(enum pyusdt_pyvm_probe probe, PyObject *task, uint64_t waiters)
{
    struct task_values task_values = {.waiters = waiters};
    struct pyusdt_firing firing;
    PyObject *coroutine;

    if (!pyusdt_vm_firing_begin(&firing, probe))
        return;
    coroutine = read_method_or_attribute(task, "get_coro", "_coro");
    task_values.texts[0] = read_method_or_attribute(task, "get_name", "_name");
    task_values.texts[1] = read_name(coroutine);
    if (probe == PYUSDT_VM_TASK_SUSPEND)
        read_suspended(&task_values, task, coroutine);
    else if (probe == PYUSDT_VM_TASK_DONE)
        read_done(&task_values, task);
    PyErr_Clear(); /* no memory for a text: an empty one */
    offer_task(&firing, probe, task, &task_values);
    close_values(&task_values);
    Py_XDECREF(coroutine);
}

/* ---- calls of the event loop ---- */

/* Handle._run: (self) */
static PyObject *call_run(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    struct pyusdt_saved_exception saved = {0};
    PyObject *task = n > 0 ? find_task(args[0]) : NULL, *result;
    uint64_t waiters = 0;

    if (task != NULL) {
        waiters = count_waiters(task); /* its end removes them, and no other code runs until then */
        fire_task(PYUSDT_VM_TASK_RUN, task, 0);
    }
    result = PyObject_Vectorcall(before, args, (size_t)n, NULL);
    if (task == NULL)
        return result;
    pyusdt_exception_save(&saved);
    fire_task(is_pending(task) ? PYUSDT_VM_TASK_SUSPEND : PYUSDT_VM_TASK_DONE, task, waiters);
    Py_DECREF(task);
    pyusdt_exception_restore(&saved);
    return result;
}

/* BaseEventLoop.create_task: (self, coroutine, *, name, …) -> task; one that begins eagerly may
 * have ended by then. */
static PyObject *call_create_task(PyObject *before, PyObject *const *args, Py_ssize_t n,
                                  PyObject *names)
{
    PyObject *task = PyObject_Vectorcall(before, args, (size_t)n, names);

    if (task == NULL || task_type == NULL || !PyObject_TypeCheck(task, task_type))
        return task;
    fire_task(PYUSDT_VM_TASK_CREATE, task, 0);
    if (!is_pending(task))
        fire_task(PYUSDT_VM_TASK_DONE, task, 0);
    return task;
}

static struct pyusdt_vm_patch run_hook = {
    "asyncio.events",
    "Handle",
    "_run",
    {"_run", PYUSDT_VM_FASTCALL(call_run), METH_FASTCALL, NULL},
    NULL,
    NULL};
static struct pyusdt_vm_patch create_hook = {
    "asyncio.base_events",
    "BaseEventLoop",
    "create_task",
    {"create_task", PYUSDT_VM_FASTCALL(call_create_task), METH_FASTCALL | METH_KEYWORDS, NULL},
    NULL,
    NULL};

/* ---- setting them ---- */

static uint32_t now_wanted;

static int are_set(void)
{
    return ((now_wanted & STEP_PROBES) == 0 || run_hook.replacement != NULL) &&
           ((now_wanted & CREATE_PROBES) == 0 || create_hook.replacement != NULL);
}

static int has_other_loop; /* uvloop is there */

int pyusdt_vm_tasks_needs_import_hook(void)
{
    return !are_set() || (now_wanted != 0 && !has_other_loop);
}

static void detect_other_loop(void)
{
    has_other_loop = now_wanted != 0 && find_module("uvloop") != NULL;
    pyusdt_vm_set_reason(
        PYUSDT_VM_REASON_TASKS, STEP_PROBES | CREATE_PROBES,
        has_other_loop
            ? "uvloop is loaded, whose event loop tells nothing of its tasks: only those of asyncio's own loops are seen"
            : NULL);
}

void pyusdt_vm_tasks_after_import(void)
{
    find_type();
    detect_other_loop();
    if (now_wanted != 0 && task_type == NULL)
        return; /* asyncio is about to be loaded, and not all of it is there */
    pyusdt_vm_patch_set(&run_hook, (now_wanted & STEP_PROBES) != 0);
    pyusdt_vm_patch_set(&create_hook, (now_wanted & CREATE_PROBES) != 0);
}

void pyusdt_vm_tasks_set(uint32_t wanted)
{
    now_wanted = wanted & (STEP_PROBES | CREATE_PROBES);
    pyusdt_vm_tasks_after_import();
}
