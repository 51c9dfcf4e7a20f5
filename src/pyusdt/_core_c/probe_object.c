/* Probe objects (see probe_object.h). */
#define PY_SSIZE_T_CLEAN
#include "_core_c/probe_object.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <structmember.h>

#include "_core_c/convert.h"
#include "_core_c/fire.h"
#include "pyusdt_probe.h"
#include "_core_c/app_providers.h"
#include "_core_c/wrapped_function.h"

#define NAME_SIZE 64 /* longer than every name in include/user_trace.d */

struct probe {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct pyusdt_context *context;
    /* a user-trace probe's: no entry, and no semaphore that the system's dtrace keeps */
    struct pyusdt_probe_site site;
    struct pyusdt_test test;        /* for callers in C */
    unsigned max_arguments_of_call; /* arguments of a call; more of them are an error, on or off */
    struct pyusdt_app_probe *app;   /* NULL: a user-trace probe */
};

static const struct pyusdt_probe_desc families[] = {PYUSDT_USER_TRACE_FAMILIES(NULL)};

#define FAMILIES (sizeof families / sizeof families[0])

/* The index of a probe's D name, or -1. */
static int find_probe(const char *name)
{
    unsigned first = 0;

    for (size_t i = 0; i < FAMILIES; first += families[i++].count) {
        size_t length = strlen(families[i].name);
        if (strncmp(name, families[i].name, length) != 0)
            continue;
        if (families[i].count == 1) {
            if (name[length] == '\0')
                return (int)first;
            continue;
        }
        const char *digits = name + length;
        size_t n = strspn(digits, "0123456789");
        if (n == 0 || n > 6 || digits[n] != '\0' || (digits[0] == '0' && n > 1))
            continue;
        unsigned number = (unsigned)atoi(digits);
        if (number < families[i].count)
            return (int)(first + number);
    }
    return -1;
}

static inline Py_ssize_t max_arguments(const struct probe *self)
{
    return (Py_ssize_t)self->max_arguments_of_call;
}

static inline int is_enabled(const struct probe *self)
{
#if defined(PYUSDT_SITES_DTRACE)
    if (self->app == NULL)
        return pyusdt_enabled(self->site.index);
#endif
    return pyusdt_site_enabled(&self->site);
}

static inline int has_work(const struct probe *self)
{
    return __builtin_expect(is_enabled(self) || pyusdt_is_strict(), 0);
}

/* The data that pyusdt_test_of() copies, while the probe lives. Only the system's dtrace knows
 * whether it is attached to its sites: then a test is always true. */
static PyObject *probe_test(PyObject *object, PyObject *unused)
{
    static const uint16_t perhaps = 1;
    struct probe *self = (struct probe *)object;

    (void)unused;
    self->test =
        (struct pyusdt_test){.attached = self->site.semaphore ? self->site.semaphore : &perhaps,
                             .words = &pyusdt_enabled_words,
                             .index = self->site.index};
    return PyCapsule_New(&self->test, PYUSDT_TEST_CAPSULE, NULL);
}

static PyObject *fire_probe(const struct probe *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (self->app != NULL)
        return pyusdt_app_probe_fire(self->app, args, nargs);
    if (self->site.index == PYUSDT_USER_TRACE_S1)
        return pyusdt_fire_message(nargs > 0 ? args[0] : Py_None);
    return pyusdt_fire_arguments(self->context, self->site.index, args, nargs);
}

/* For a probe of an application provider with names: moves the keyword arguments into the values'
 * places. The number of values, -1 with an exception. */
static Py_ssize_t place_keywords(const struct probe *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *keywords, PyObject **values)
{
    PyObject *names = self->app != NULL ? self->app->names : NULL;
    Py_ssize_t max_arguments_of_call = nargs;

    for (Py_ssize_t i = 0; i < PYUSDT_MAX_ARGS; i++)
        values[i] = i < nargs ? args[i] : Py_None;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); k++) {
        PyObject *keyword = PyTuple_GET_ITEM(keywords, k);
        Py_ssize_t i = names != NULL ? PySequence_Index(names, keyword) : -1;
        if (i < 0 || i < nargs) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError,
                         i < 0 ? "this probe takes no argument '%U' by name"
                               : "this probe has two values for '%U'",
                         keyword);
            return -1;
        }
        values[i] = args[nargs + k];
        if (i >= max_arguments_of_call)
            max_arguments_of_call = i + 1;
    }
    return max_arguments_of_call;
}

static PyObject *probe_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                  PyObject *keywords)
{
    const struct probe *self = (struct probe *)object;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);

    PyObject *values[PYUSDT_MAX_ARGS];

    if (nargs > max_arguments(self))
        return PyErr_Format(PyExc_TypeError, "a probe call takes at most %zd arguments (%zd given)",
                            max_arguments(self), nargs);
    if (__builtin_expect(keywords != NULL && PyTuple_GET_SIZE(keywords) > 0, 0)) {
        nargs = place_keywords(self, args, nargs, keywords, values);
        if (nargs < 0)
            return NULL;
        args = values;
    }
    if (!has_work(self))
        Py_RETURN_FALSE;
    return fire_probe(self, args, nargs);
}

/* Fires with the result of the function. */
static PyObject *fire_result(const struct probe *self, PyObject *result)
{
    PyObject *one[1] = {result};
    PyObject *const *args = one;
    Py_ssize_t nargs = 1;

    if (PyTuple_Check(result)) {
        args = PySequence_Fast_ITEMS(result);
        nargs = PyTuple_GET_SIZE(result);
    }
    if (nargs > max_arguments(self)) {
        if (pyusdt_is_strict())
            return PyErr_Format(PyExc_TypeError,
                                "a probe call takes at most %zd arguments (%zd returned)",
                                max_arguments(self), nargs);
        nargs = max_arguments(self);
    }
    return fire_probe(self, args, nargs);
}

/* The function is the application's, but runs only while the probe is traced. An exception ends
 * here, and the event is fired without arguments. */
static PyObject *probe_lazy(PyObject *object, PyObject *function)
{
    const struct probe *self = (struct probe *)object;
    PyObject *result, *fired;

    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError,
                     "lazy() takes a function that returns the arguments, not %.200s",
                     Py_TYPE(function)->tp_name);
        return NULL;
    }
    if (!has_work(self))
        Py_RETURN_FALSE;
    result = PyObject_CallNoArgs(function);
    if (result == NULL) {
        if (pyusdt_is_strict())
            return NULL;
        pyusdt_swallow_exception();
        return fire_probe(self, NULL, 0);
    }
    fired = fire_result(self, result);
    Py_DECREF(result);
    return fired;
}

/* Two exits, by a jump: the result while the probe is off then waits for no load. (A compiler would
 * merge them by arithmetic; without the GIL that took half as long again.) */
static int probe_bool(PyObject *self)
{
    if (__builtin_expect(!is_enabled((struct probe *)self), 1))
        return 0;
    __asm__ volatile("");
    return 1;
}

int pyusdt_probe_enabled(PyObject *probe)
{
    return is_enabled((struct probe *)probe);
}

static PyObject *probe_max_arguments(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(max_arguments((struct probe *)self));
}

static PyObject *probe_name(PyObject *object, void *unused)
{
    const struct pyusdt_app_probe *app = ((struct probe *)object)->app;
    unsigned index = ((struct probe *)object)->site.index, first = 0;
    size_t i = 0;

    (void)unused;
    if (app != NULL) {
        Py_INCREF(app->name);
        return app->name;
    }
    while (index - first >= families[i].count)
        first += families[i++].count;
    if (families[i].count == 1)
        return PyUnicode_FromString(families[i].name);
    return PyUnicode_FromFormat("%s%u", families[i].name, index - first);
}

static PyObject *probe_provider(PyObject *object, void *unused)
{
    const struct pyusdt_app_probe *app = ((struct probe *)object)->app;

    (void)unused;
    if (app == NULL)
        return PyUnicode_FromString("pyusdt");
    Py_INCREF(app->provider);
    return app->provider;
}

static PyObject *probe_path(PyObject *object, void *unused)
{
    const struct pyusdt_app_probe *app = ((struct probe *)object)->app;

    (void)unused;
    if (app == NULL)
        Py_RETURN_NONE;
    Py_INCREF(app->path);
    return app->path;
}

/* In another process the same names and types are the same probe. */
static PyObject *probe_reduce(PyObject *object, PyObject *unused)
{
    const struct pyusdt_app_probe *app = ((struct probe *)object)->app;
    PyObject *module = PyImport_ImportModule("pyusdt.providers"), *maker = NULL, *reduced = NULL;

    (void)unused;
    if (module != NULL)
        maker = PyObject_GetAttrString(module, app ? "probe_again" : "user_trace_again");
    Py_XDECREF(module);
    if (maker == NULL)
        return NULL;
    if (app)
        reduced = Py_BuildValue("(O(OOy#O))", maker, app->provider, app->name, app->type,
                                (Py_ssize_t)app->nargs, app->names);
    else
        reduced = Py_BuildValue("(O(N))", maker, probe_name(object, NULL));
    Py_DECREF(maker);
    return reduced;
}

static PyObject *probe_repr(PyObject *self)
{
    PyObject *name = probe_name(self, NULL), *repr = NULL;

    if (name != NULL)
        repr = PyUnicode_FromFormat("<pyusdt.Probe %U: %s>", name, probe_bool(self) ? "on" : "off");
    Py_XDECREF(name);
    return repr;
}

static void probe_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    Py_CLEAR(((struct probe *)object)->context);
    pyusdt_app_probe_free(((struct probe *)object)->app);
    type->tp_free(object);
    Py_DECREF(type);
}

static int probe_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(((struct probe *)object)->context);
    return 0;
}

PyTypeObject *pyusdt_probe_type(void)
{
    static PyMethodDef methods[] = {
        {"lazy", probe_lazy, METH_O,
         "lazy($self, function, /)\n--\n\n"
         "Fire with the arguments that function() returns: a tuple, or one value. It is called only if a tracer is attached.\n\n"
         "An exception of function is suppressed, except in strict mode; the event then has no arguments.\n"
         "Returns True if the event was offered to a tracer."},
        {"wrap", pyusdt_probe_wrap, METH_O,
         "wrap($self, function, /)\n--\n\n"
         "Decorate a function, coroutine function or generator function so that each run fires the probe twice.\n\n"
         "- The first event has 0, the qualified name and 'entry'.\n"
         "- The second has the run's nanoseconds, the name, and 'return', 'raise' or 'close'.\n"
         "- While no tracer is attached, a call costs one more test.\n\n"
         "Raises TypeError for an object that is not callable."},
        {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS,
         "Probe[int, str]: for annotations."},
        {"__reduce__", probe_reduce, METH_NOARGS, NULL},
        {"_test", probe_test, METH_NOARGS, "For pyusdt_test_of() of pyusdt_probe.h."},
        {NULL, NULL, 0, NULL},
    };
    static PyGetSetDef attributes[] = {
        {"name", probe_name, NULL, "The probe's name as D writes it.", NULL},
        {"provider", probe_provider, NULL,
         "The name of the probe's provider, without the process id.", NULL},
        {"max_arguments", probe_max_arguments, NULL,
         "The greatest number of values that a call takes.", NULL},
        {"path", probe_path, NULL,
         "The object file of an application provider's probe; None without one, and for the probes of pyusdt itself.",
         NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct probe, vectorcall), READONLY, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "A probe. It is true while a tracer is attached to it; a call fires it.\n\n"
         "- A call takes the arguments of p() or user_trace_s1(), or, for a probe of a Provider, values of its types, by\n"
         "  position or by name.\n"
         "- It returns True if the event was offered to a tracer.\n\n"
         "Raises TypeError for more than max_arguments values, traced or not."},
        {Py_tp_call, PyVectorcall_Call},
        {Py_tp_repr, probe_repr},
        {Py_tp_dealloc, probe_dealloc},
        {Py_tp_traverse, probe_traverse},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {Py_tp_members, members},
        {Py_nb_bool, probe_bool},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "pyusdt.Probe",
        .basicsize = sizeof(struct probe),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                 Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

static struct probe *new_probe(struct pyusdt_context *context, struct pyusdt_probe_site site,
                               unsigned max_arguments_of_call)
{
    struct probe *probe = (struct probe *)context->probe_type->tp_alloc(context->probe_type, 0);

    if (probe == NULL)
        return NULL;
    probe->vectorcall = probe_vectorcall;
    probe->context = context;
    Py_INCREF(context);
    probe->site = site;
    probe->max_arguments_of_call = max_arguments_of_call;
    return probe;
}

PyObject *pyusdt_probe_new(PyObject *context, PyObject *name)
{
    struct pyusdt_context *self = (struct pyusdt_context *)context;
    char d_name[NAME_SIZE];
    const char *given = PyUnicode_AsUTF8(name); /* TypeError if it is no str */
    struct pyusdt_probe_site site = {0};
    int index = -1;

    if (given == NULL)
        return NULL;
    if (pyusdt_probe_name(given, d_name, sizeof d_name) >= 0)
        index = find_probe(d_name);
    if (index < 0)
        return PyErr_Format(PyExc_ValueError,
                            "no such probe: %R (user_trace-s1, user_trace-i4s4, "
                            "user_trace-n0 to user_trace-n%d)",
                            name, PYUSDT_NUMBERED - 1);
    site.index = (unsigned)index;
#if !defined(PYUSDT_SITES_DTRACE)
    site.semaphore = &pyusdt_semaphores[index];
#endif
    return (PyObject *)new_probe(self, site,
                                 site.index == PYUSDT_USER_TRACE_S1 ? 1 : PYUSDT_VALUES);
}

PyObject *pyusdt_probe_from_app(struct pyusdt_context *context, struct pyusdt_app_probe *app)
{
    struct probe *probe = new_probe(context, app->site, app->nargs);

    if (probe == NULL) {
        pyusdt_app_probe_free(app);
        return NULL;
    }
    probe->app = app;
    return (PyObject *)probe;
}
