/* What is no code: the collector, imports, threads, audit events.  See _core_c/vm/python_provider.h.
 *
 * A hook is one function of C in the place of, or beside, what the interpreter calls: an entry of gc.callbacks,
 * importlib's _find_and_load, Thread._bootstrap_inner.  It is there while one of its probes is wanted, adds no frame to a traceback,
 * and is taken out only where it still is what it was: another tool may have put its own around it.  Audit hooks can not be taken
 * out: theirs is set when the probe is first wanted, and only in a process that has asked for the probe. */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"

#include <string.h>

#include "_core_c/convert.h"
#include "_core_c/saved_exception.h"
#include "_core_c/vm/function_patch.h"

#define GC_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_GC_START) | PYUSDT_VM_BIT(PYUSDT_VM_GC_DONE))
#define IMPORT_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_IMPORT_START) | PYUSDT_VM_BIT(PYUSDT_VM_IMPORT_DONE))
#define THREAD_PROBES (PYUSDT_VM_BIT(PYUSDT_VM_THREAD_START) | PYUSDT_VM_BIT(PYUSDT_VM_THREAD_STOP))

/* ---- events ---- */

/* An event without a place: a text that may be NULL, and a number behind it. */
static void fire_text(enum pyusdt_pyvm_probe probe, PyObject *object, uint64_t number)
{
    struct pyusdt_text_source source;
    struct pyusdt_string string;
    struct pyusdt_firing firing;

    if (!pyusdt_vm_begin(&firing, probe))
        return;
    pyusdt_text_source_open(&source, object != NULL && PyUnicode_Check(object) ? object : NULL);
    pyusdt_string_set(&string, &source);
    pyusdt_firing_no_more(&firing, 1);
    pyusdt_firing_text(&firing, 0, string.address, string.length);
    firing.args.value[1] = number;
    pyusdt_vm_offer(&firing, probe);
    pyusdt_text_source_close(&source);
}

static void fire_number(enum pyusdt_pyvm_probe probe, uint64_t number)
{
    struct pyusdt_firing firing;

    if (!pyusdt_vm_begin(&firing, probe))
        return;
    pyusdt_firing_no_more(&firing, 0);
    firing.args.value[0] = number;
    pyusdt_vm_offer(&firing, probe);
}

/* ---- the collector ---- */

static uint64_t number_in(PyObject *dict, const char *key)
{
    PyObject *value = PyDict_Check(dict) ? PyDict_GetItemString(dict, key) : NULL;

    return value != NULL && PyLong_Check(value) ? pyusdt_integer(value) : 0;
}

/* An entry of gc.callbacks: (phase, info). */
static PyObject *collects(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (n == 2 && PyUnicode_Check(args[0]) &&
        PyUnicode_CompareWithASCIIString(args[0], "start") == 0)
        fire_number(PYUSDT_VM_GC_START, number_in(args[1], "generation"));
    else if (n == 2)
        fire_number(PYUSDT_VM_GC_DONE, number_in(args[1], "collected"));
    Py_RETURN_NONE;
}

/* ---- imports and threads: something of the interpreter's, called by ours in its place ---- */

/* (name, import function) -> module */
static PyObject *imports(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    struct pyusdt_pending pending = {0};
    PyObject *name = n > 0 ? args[0] : NULL, *module;

    fire_text(PYUSDT_VM_IMPORT_START, name, 0);
    module = PyObject_Vectorcall(before, args, (size_t)n, NULL);
    pyusdt_pending_save(&pending);
    fire_text(PYUSDT_VM_IMPORT_DONE, name, module != NULL);
    if (pyusdt_vm_tasks_await())
        pyusdt_vm_tasks_loaded();
    pyusdt_pending_restore(&pending);
    return module;
}

/* A thread's name, which is a str in its __dict__.  New reference, or NULL. */
static PyObject *thread_name(PyObject *thread)
{
    PyObject *dict = PyObject_GenericGetDict(thread, NULL);
    PyObject *name = dict != NULL ? PyDict_GetItemString(dict, "_name") : NULL;

    Py_XINCREF(name);
    Py_XDECREF(dict);
    if (name == NULL)
        PyErr_Clear();
    return name;
}

static void fire_thread(enum pyusdt_pyvm_probe probe, PyObject *thread)
{
    PyObject *name = thread_name(thread);

    fire_text(probe, name, PyThread_get_thread_ident());
    Py_XDECREF(name);
}

/* Thread._bootstrap_inner: (self) */
static PyObject *begins(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    struct pyusdt_pending pending = {0};
    PyObject *result;

    pyusdt_vm_code_thread();
    if (n > 0)
        fire_thread(PYUSDT_VM_THREAD_START, args[0]);
    result = PyObject_Vectorcall(before, args, (size_t)n, NULL);
    pyusdt_pending_save(&pending);
    if (n > 0)
        fire_thread(PYUSDT_VM_THREAD_STOP, args[0]);
    pyusdt_pending_restore(&pending);
    return result;
}

static struct pyusdt_vm_hook import_hook = {
    "_frozen_importlib",
    NULL,
    "_find_and_load",
    {"_find_and_load", PYUSDT_VM_FASTCALL(imports), METH_FASTCALL, NULL},
    NULL,
    NULL};
static struct pyusdt_vm_hook thread_hook = {
    "threading",
    "Thread",
    "_bootstrap_inner",
    {"_bootstrap_inner", PYUSDT_VM_FASTCALL(begins), METH_FASTCALL, NULL},
    NULL,
    NULL};

/* What has the attribute; new reference, or NULL: the module is not loaded. */
static PyObject *holder_of(const struct pyusdt_vm_hook *hook)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules != NULL ? PyDict_GetItemString(modules, hook->module) : NULL;

    if (module != NULL && hook->holder != NULL)
        return PyObject_GetAttrString(module, hook->holder);
    Py_XINCREF(module);
    return module;
}

/* Borrowed. */
static PyObject *attribute(PyObject *holder, const char *name)
{
    PyObject *dict =
        PyModule_Check(holder) ? PyModule_GetDict(holder) : ((PyTypeObject *)holder)->tp_dict;

    return PyDict_GetItemString(dict, name);
}

static void hook_in(struct pyusdt_vm_hook *hook, PyObject *holder)
{
    PyObject *before = attribute(holder, hook->name);
    PyObject *function = before != NULL ? PyCFunction_New(&hook->method, before) : NULL;
    PyObject *ours =
        function != NULL && hook->holder != NULL ? PyInstanceMethod_New(function) : NULL;

    if (hook->holder == NULL)
        Py_XINCREF(ours = function);
    Py_XDECREF(function);
    if (ours == NULL || PyObject_SetAttrString(holder, hook->name, ours) < 0)
        Py_CLEAR(ours);
    Py_XINCREF(hook->before = ours != NULL ? before : NULL);
    hook->ours = ours;
}

static void hook_out(struct pyusdt_vm_hook *hook, PyObject *holder)
{
    if (attribute(holder, hook->name) != hook->ours)
        return; /* another's stands around it, and may call it: ours does nothing but call on */
    if (PyObject_SetAttrString(holder, hook->name, hook->before) < 0)
        return;
    Py_CLEAR(hook->ours);
    Py_CLEAR(hook->before);
}

void pyusdt_vm_hook_set(struct pyusdt_vm_hook *hook, int wanted)
{
    PyObject *holder = wanted != (hook->ours != NULL) ? holder_of(hook) : NULL;

    if (holder != NULL && wanted)
        hook_in(hook, holder);
    else if (holder != NULL)
        hook_out(hook, holder);
    Py_XDECREF(holder);
    PyErr_Clear();
}

static void collector_set(int wanted)
{
    static PyMethodDef method = {"pyusdt", PYUSDT_VM_FASTCALL(collects), METH_FASTCALL, NULL};
    static PyObject *ours;
    PyObject *module = wanted != (ours != NULL) ? PyImport_ImportModule("gc") : NULL;
    PyObject *callbacks = module != NULL ? PyObject_GetAttrString(module, "callbacks") : NULL;

    if (callbacks != NULL && wanted) {
        ours = PyCFunction_New(&method, NULL);
        if (ours == NULL || PyList_Append(callbacks, ours) < 0)
            Py_CLEAR(ours);
    } else if (callbacks != NULL) {
        Py_XDECREF(PyObject_CallMethod(callbacks, "remove", "O", ours));
        Py_CLEAR(ours); /* where the program has emptied the list, too */
    }
    Py_XDECREF(module);
    Py_XDECREF(callbacks);
    PyErr_Clear();
}

/* ---- audit events ---- */

static int audits(const char *event, PyObject *Py_UNUSED(args), void *Py_UNUSED(data))
{
    struct pyusdt_firing firing;

    if (!pyusdt_vm_begin(&firing, PYUSDT_VM_AUDIT))
        return 0;
    pyusdt_firing_no_more(&firing, 0);
    pyusdt_firing_text(&firing, 0, event, pyusdt_text_length(event, strlen(event)));
    pyusdt_vm_offer(&firing, PYUSDT_VM_AUDIT);
    return 0;
}

static void audit_set(int wanted)
{
    static int there;

    if (!wanted || there)
        return;
    there = PySys_AddAuditHook(audits, NULL) == 0;
    PyErr_Clear();
}

/* ---- all ---- */

void pyusdt_vm_hooks_set(uint32_t wanted)
{
    pyusdt_vm_tasks_set(wanted);
    collector_set((wanted & GC_PROBES) != 0);
    pyusdt_vm_hook_set(&import_hook, (wanted & IMPORT_PROBES) != 0 || pyusdt_vm_tasks_await());
    /* before 3.12 a thread has to be told, when it begins, that its code is traced */
    pyusdt_vm_hook_set(&thread_hook,
                       (wanted & THREAD_PROBES) != 0 ||
                           (PY_VERSION_HEX < 0x030c0000 &&
                            (wanted & (PYUSDT_VM_BIT(PYUSDT_VM_PLACE_PROBES) - 1)) != 0));
    audit_set((wanted & PYUSDT_VM_BIT(PYUSDT_VM_AUDIT)) != 0);
}
