/*
 * Events that do not belong to code: the collector, imports, threads, audit events (see
 * python_provider.h).
 *
 * A hook is a C function that replaces, or is added to, what the interpreter calls: an entry of
 * gc.callbacks, importlib's _find_and_load, Thread._bootstrap_inner.
 *
 * - A hook exists only while one of its probes is wanted. It adds no frame to a traceback.
 * - A hook is removed only if it is still in place, since another tool may have wrapped it.
 * - An audit hook cannot be removed. It is set when the probe is first wanted, in a process that
 *   has asked for the probe.
 */
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

    if (!pyusdt_vm_firing_begin(&firing, probe))
        return;
    pyusdt_text_source_open(&source, object != NULL && PyUnicode_Check(object) ? object : NULL);
    pyusdt_string_set(&string, &source);
    pyusdt_firing_no_more(&firing, 1);
    pyusdt_firing_text(&firing, 0, string.address, string.length);
    firing.args.value[1] = number;
    pyusdt_vm_firing_offer(&firing, probe);
    pyusdt_text_source_close(&source);
}

static void fire_number(enum pyusdt_pyvm_probe probe, uint64_t number)
{
    struct pyusdt_firing firing;

    if (!pyusdt_vm_firing_begin(&firing, probe))
        return;
    pyusdt_firing_no_more(&firing, 0);
    firing.args.value[0] = number;
    pyusdt_vm_firing_offer(&firing, probe);
}

/* ---- the collector ---- */

static uint64_t read_number(PyObject *dict, const char *key)
{
    PyObject *value = PyDict_Check(dict) ? PyDict_GetItemString(dict, key) : NULL;

    return value != NULL && PyLong_Check(value) ? pyusdt_integer_modulo_64(value) : 0;
}

/* An entry of gc.callbacks: (phase, info). */
static PyObject *on_collection(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    (void)self;
    if (n == 2 && PyUnicode_Check(args[0]) &&
        PyUnicode_CompareWithASCIIString(args[0], "start") == 0)
        fire_number(PYUSDT_VM_GC_START, read_number(args[1], "generation"));
    else if (n == 2)
        fire_number(PYUSDT_VM_GC_DONE, read_number(args[1], "collected"));
    Py_RETURN_NONE;
}

/* ---- imports and threads: our function in the place of one of the interpreter's ---- */

/* (name, import function) -> module */
static PyObject *call_find_and_load(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    struct pyusdt_saved_exception saved = {0};
    PyObject *name = n > 0 ? args[0] : NULL, *module;

    fire_text(PYUSDT_VM_IMPORT_START, name, 0);
    module = PyObject_Vectorcall(before, args, (size_t)n, NULL);
    pyusdt_exception_save(&saved);
    fire_text(PYUSDT_VM_IMPORT_DONE, name, module != NULL);
    if (pyusdt_vm_tasks_needs_import_hook())
        pyusdt_vm_tasks_after_import();
    pyusdt_exception_restore(&saved);
    return module;
}

/* A thread's name, which is a str in its __dict__.  New reference, or NULL. */
static PyObject *read_thread_name(PyObject *thread)
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
    PyObject *name = read_thread_name(thread);

    fire_text(probe, name, PyThread_get_thread_ident());
    Py_XDECREF(name);
}

/* Thread._bootstrap_inner: (self) */
static PyObject *call_bootstrap(PyObject *before, PyObject *const *args, Py_ssize_t n)
{
    struct pyusdt_saved_exception saved = {0};
    PyObject *result;

    pyusdt_vm_code_set_thread();
    if (n > 0)
        fire_thread(PYUSDT_VM_THREAD_START, args[0]);
    result = PyObject_Vectorcall(before, args, (size_t)n, NULL);
    pyusdt_exception_save(&saved);
    if (n > 0)
        fire_thread(PYUSDT_VM_THREAD_STOP, args[0]);
    pyusdt_exception_restore(&saved);
    return result;
}

static struct pyusdt_vm_patch import_hook = {
    "_frozen_importlib",
    NULL,
    "_find_and_load",
    {"_find_and_load", PYUSDT_VM_FASTCALL(call_find_and_load), METH_FASTCALL, NULL},
    NULL,
    NULL};
static struct pyusdt_vm_patch thread_hook = {
    "threading",
    "Thread",
    "_bootstrap_inner",
    {"_bootstrap_inner", PYUSDT_VM_FASTCALL(call_bootstrap), METH_FASTCALL, NULL},
    NULL,
    NULL};

/* The object that has the attribute; new reference, or NULL: the module is not loaded. */
static PyObject *find_holder(const struct pyusdt_vm_patch *hook)
{
    PyObject *modules = PyImport_GetModuleDict();
    PyObject *module = modules != NULL ? PyDict_GetItemString(modules, hook->module) : NULL;

    if (module != NULL && hook->holder != NULL)
        return PyObject_GetAttrString(module, hook->holder);
    Py_XINCREF(module);
    return module;
}

/* Borrowed. */
static PyObject *find_attribute(PyObject *holder, const char *name)
{
    PyObject *dict =
        PyModule_Check(holder) ? PyModule_GetDict(holder) : ((PyTypeObject *)holder)->tp_dict;

    return PyDict_GetItemString(dict, name);
}

static void install_patch(struct pyusdt_vm_patch *hook, PyObject *holder)
{
    PyObject *before = find_attribute(holder, hook->name);
    PyObject *function = before != NULL ? PyCFunction_New(&hook->method, before) : NULL;
    PyObject *replacement =
        function != NULL && hook->holder != NULL ? PyInstanceMethod_New(function) : NULL;

    if (hook->holder == NULL)
        Py_XINCREF(replacement = function);
    Py_XDECREF(function);
    if (replacement == NULL || PyObject_SetAttrString(holder, hook->name, replacement) < 0)
        Py_CLEAR(replacement);
    Py_XINCREF(hook->before = replacement != NULL ? before : NULL);
    hook->replacement = replacement;
}

static void remove_patch(struct pyusdt_vm_patch *hook, PyObject *holder)
{
    /* another tool's wrapper is around it, and may call it: ours only calls the original */
    if (find_attribute(holder, hook->name) != hook->replacement)
        return;
    if (PyObject_SetAttrString(holder, hook->name, hook->before) < 0)
        return;
    Py_CLEAR(hook->replacement);
    Py_CLEAR(hook->before);
}

void pyusdt_vm_patch_set(struct pyusdt_vm_patch *hook, int wanted)
{
    PyObject *holder = wanted != (hook->replacement != NULL) ? find_holder(hook) : NULL;

    if (holder != NULL && wanted)
        install_patch(hook, holder);
    else if (holder != NULL)
        remove_patch(hook, holder);
    Py_XDECREF(holder);
    PyErr_Clear();
}

static void set_collector(int wanted)
{
    static PyMethodDef method = {"pyusdt", PYUSDT_VM_FASTCALL(on_collection), METH_FASTCALL, NULL};
    static PyObject *replacement;
    PyObject *module = wanted != (replacement != NULL) ? PyImport_ImportModule("gc") : NULL;
    PyObject *callbacks = module != NULL ? PyObject_GetAttrString(module, "callbacks") : NULL;

    if (callbacks != NULL && wanted) {
        replacement = PyCFunction_New(&method, NULL);
        if (replacement == NULL || PyList_Append(callbacks, replacement) < 0)
            Py_CLEAR(replacement);
    } else if (callbacks != NULL) {
        Py_XDECREF(PyObject_CallMethod(callbacks, "remove", "O", replacement));
        Py_CLEAR(replacement); /* also if the program has emptied the list */
    }
    Py_XDECREF(module);
    Py_XDECREF(callbacks);
    PyErr_Clear();
}

/* ---- audit events ---- */

static int on_audit(const char *event, PyObject *Py_UNUSED(args), void *Py_UNUSED(data))
{
    struct pyusdt_firing firing;

    if (!pyusdt_vm_firing_begin(&firing, PYUSDT_VM_AUDIT))
        return 0;
    pyusdt_firing_no_more(&firing, 0);
    pyusdt_firing_text(&firing, 0, event, pyusdt_text_length(event, strlen(event)));
    pyusdt_vm_firing_offer(&firing, PYUSDT_VM_AUDIT);
    return 0;
}

static void set_audit(int wanted)
{
    static int there;

    if (!wanted || there)
        return;
    there = PySys_AddAuditHook(on_audit, NULL) == 0;
    PyErr_Clear();
}

/* ---- all ---- */

void pyusdt_vm_hooks_set(uint32_t wanted)
{
    pyusdt_vm_tasks_set(wanted);
    set_collector((wanted & GC_PROBES) != 0);
    pyusdt_vm_patch_set(&import_hook,
                        (wanted & IMPORT_PROBES) != 0 || pyusdt_vm_tasks_needs_import_hook());
    /* before 3.12 a new thread must be set up when its code is traced */
    pyusdt_vm_patch_set(&thread_hook, (wanted & THREAD_PROBES) != 0 ||
                                          (PY_VERSION_HEX < 0x030c0000 &&
                                           (wanted & ((PYUSDT_VM_BIT(PYUSDT_VM_PLACE_PROBES) - 1) |
                                                      PYUSDT_VM_KEEPS_EXCEPTIONS)) != 0));
    set_audit((wanted & PYUSDT_VM_BIT(PYUSDT_VM_AUDIT)) != 0);
}
