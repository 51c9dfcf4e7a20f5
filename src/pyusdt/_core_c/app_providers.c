/* Probes of application providers (see app_providers.h). */
#define PY_SSIZE_T_CLEAN
#include "_core_c/app_providers.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "_core_c/convert.h"
#include "_core_c/fire.h"
#include "_core_c/saved_exception.h"
#include "_core_c/probe_object.h"
#include "_core_c/task_numbers.h"

void pyusdt_app_probe_free(struct pyusdt_app_probe *app)
{
    if (app == NULL)
        return;
    Py_XDECREF(app->provider);
    Py_XDECREF(app->name);
    Py_XDECREF(app->path);
    Py_XDECREF(app->names);
    PyMem_Free(app);
}

/* ---- values ---- */

/* Anything but an integer is 0. */
static uint64_t convert_integer(PyObject *object, unsigned type)
{
    PyObject *number = PyNumber_Index(object);
    uint64_t value;

    if (number == NULL) {
        pyusdt_swallow_exception();
        return 0;
    }
    value = pyusdt_integer_modulo_64(number);
    Py_DECREF(number);
    return pyusdt_integer_bits(value, type);
}

/* Anything but a number is NaN. */
static uint64_t convert_float(PyObject *object, unsigned type)
{
    double value = PyFloat_AsDouble(object);

    if (value == -1.0 && PyErr_Occurred()) {
        pyusdt_swallow_exception();
        value = NAN;
    }
    return pyusdt_float_bits(value, type);
}

static int check_strict(const struct pyusdt_app_probe *app, PyObject *const *args, Py_ssize_t nargs)
{
    for (Py_ssize_t i = 0; i < nargs; i++) {
        unsigned kind = app->type[i] & PYUSDT_KIND;
        PyObject *arg = args[i];
        const char *wanted = NULL;

        if (arg == Py_None)
            continue;
        if (app->type[i] == PYUSDT_STRING)
            wanted = PyUnicode_Check(arg) || PyObject_CheckBuffer(arg) ? NULL : "str, bytes-like";
        else if (kind == PYUSDT_FLOAT)
            wanted = PyFloat_Check(arg) || PyLong_Check(arg) ? NULL : "float, int";
        else
            wanted = PyIndex_Check(arg) ? NULL : "int";
        if (wanted != NULL) {
            PyErr_Format(PyExc_TypeError, "argument %zd must be %s or None, not %.200s", i + 1,
                         wanted, Py_TYPE(arg)->tp_name);
            return -1;
        }
    }
    return 0;
}

/* ---- one event ---- */

#define ALL_ARGUMENTS ((1u << PYUSDT_MAX_ARGS) - 1)

struct app_firing {
    const struct pyusdt_app_probe *app;
    struct pyusdt_firing firing;
};

/* Argument i: the value of the call, or NULL if it is absent or no tracer reads it. */
static PyObject *read_value(const struct app_firing *app_firing, unsigned i, PyObject *const *args,
                            Py_ssize_t nargs)
{
    return i < (size_t)nargs && pyusdt_firing_reads(&app_firing->firing, i) && args[i] != Py_None
               ? args[i]
               : NULL;
}

/* A value that needs no code of the application's.  0: this one may. */
static int set_plain_value(struct app_firing *app_firing, unsigned i, PyObject *given)
{
    unsigned type = app_firing->app->type[i];
    struct pyusdt_args *args = &app_firing->firing.args;

    if (type == PYUSDT_STRING)
        return pyusdt_string_set_plain(given, &args->value[i], &args->length[i]);
    args->length[i] = 0;
    if (given == NULL)
        args->value[i] = 0;
    else if ((type & PYUSDT_KIND) == PYUSDT_FLOAT && PyFloat_Check(given))
        args->value[i] = pyusdt_float_bits(PyFloat_AS_DOUBLE(given), type);
    else if ((type & PYUSDT_KIND) != PYUSDT_FLOAT && PyLong_Check(given))
        args->value[i] = pyusdt_integer_bits(pyusdt_integer_modulo_64(given), type);
    else
        return 0;
    return 1;
}

/* The usual event: every value is there as it is needed.  0: not so, and nothing is fired. */
static int fire_plain(struct app_firing *app_firing, PyObject *const *args, Py_ssize_t nargs)
{
    for (unsigned i = 0; i < app_firing->app->nargs; i++)
        if (!set_plain_value(app_firing, i, read_value(app_firing, i, args, nargs)))
            return 0;
    pyusdt_firing_offer_at(&app_firing->firing, &app_firing->app->site);
    return 1;
}

/* All that may run the application's code.  Strings stay in their sources. */
static void open_values(struct app_firing *app_firing, struct pyusdt_text_source *sources,
                        PyObject *const *args, Py_ssize_t nargs)
{
    for (unsigned i = 0; i < app_firing->app->nargs; i++) {
        PyObject *given = read_value(app_firing, i, args, nargs);
        unsigned type = app_firing->app->type[i];

        if (type == PYUSDT_STRING)
            pyusdt_text_source_open(&sources[i], given);
        else if (!set_plain_value(app_firing, i, given))
            app_firing->firing.args.value[i] = (type & PYUSDT_KIND) == PYUSDT_FLOAT
                                                   ? convert_float(given, type)
                                                   : convert_integer(given, type);
    }
}

/* The large frame: nothing of the application's runs below it. */
__attribute__((noinline)) static void fire_converted(struct app_firing *app_firing,
                                                     const struct pyusdt_text_source *sources)
{
    struct pyusdt_string strings[PYUSDT_MAX_ARGS];

    for (unsigned i = 0; i < app_firing->app->nargs; i++)
        if (app_firing->app->type[i] == PYUSDT_STRING) {
            pyusdt_string_set(&strings[i], &sources[i]);
            pyusdt_firing_text(&app_firing->firing, i, strings[i].address, strings[i].length);
        }
    pyusdt_firing_offer_at(&app_firing->firing, &app_firing->app->site);
}

__attribute__((noinline)) static void fire_general(struct app_firing *app_firing,
                                                   PyObject *const *args, Py_ssize_t nargs)
{
    struct pyusdt_text_source sources[PYUSDT_MAX_ARGS];

    open_values(app_firing, sources, args, nargs);
    fire_converted(app_firing, sources);
    for (unsigned i = 0; i < app_firing->app->nargs; i++)
        if (app_firing->app->type[i] == PYUSDT_STRING)
            pyusdt_text_source_close(&sources[i]);
}

PyObject *pyusdt_app_probe_fire(const struct pyusdt_app_probe *app, PyObject *const *args,
                                Py_ssize_t nargs)
{
    struct pyusdt_saved_exception saved;
    struct app_firing app_firing;

    if (pyusdt_is_strict() && check_strict(app, args, nargs) < 0)
        return NULL;
    app_firing.app = app;
    if (!pyusdt_firing_begin_at(&app_firing.firing, &app->site))
        Py_RETURN_FALSE;
    pyusdt_detect_tasks_sometimes();
    if ((app_firing.firing.reads & ALL_ARGUMENTS) >> app->nargs != 0)
        pyusdt_firing_no_more(
            &app_firing.firing,
            app->nargs); /* seldom: a tracer rarely reads more arguments than a probe has */
    if (!fire_plain(&app_firing, args, nargs)) {
        pyusdt_exception_save(&saved);
        fire_general(&app_firing, args, nargs);
        pyusdt_exception_restore(&saved);
    }
    Py_RETURN_TRUE;
}

/* ---- defining ---- */

/* The names of the arguments: str, or None. -1 with an exception. */
static int read_names(PyObject *names, struct pyusdt_probe_def *probe)
{
    for (Py_ssize_t i = 0; i < (Py_ssize_t)probe->nargs && i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (name != Py_None && (probe->argument[i] = PyUnicode_AsUTF8(name)) == NULL)
            return -1;
    }
    return 0;
}

/* One (name, types, names of the arguments) of the list.  -1 with an exception. */
static int read_probe(PyObject *item, struct pyusdt_probe_def *probe)
{
    const char *types;
    PyObject *names;
    Py_ssize_t n;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError,
                        "a probe is a tuple of its name, its types and their names");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "sy#O!", &probe->name, &types, &n, &PyTuple_Type, &names))
        return -1;
    if (n > PYUSDT_MAX_ARGS) {
        PyErr_Format(PyExc_ValueError, "a probe has at most %d arguments", PYUSDT_MAX_ARGS);
        return -1;
    }
    probe->nargs = (unsigned)n;
    memcpy(probe->type, types, (size_t)n);
    return read_names(names, probe);
}

static PyObject *new_object(PyObject *context, const char *provider,
                            const struct pyusdt_probe_def *probe,
                            const struct pyusdt_probe_site *site, const char *path, PyObject *names)
{
    struct pyusdt_app_probe *app = PyMem_Calloc(1, sizeof *app);

    if (app == NULL)
        return PyErr_NoMemory();
    app->provider = PyUnicode_FromString(provider);
    app->name = PyUnicode_FromString(probe->name);
    if (site->entry != NULL)
        app->path = PyUnicode_DecodeFSDefault(path);
    else
        Py_INCREF(app->path = Py_None);
    Py_INCREF(app->names = names);
    app->site = *site;
    app->nargs = probe->nargs;
    memcpy(app->type, probe->type, sizeof app->type);
    if (app->provider == NULL || app->name == NULL || app->path == NULL) {
        pyusdt_app_probe_free(app);
        return NULL;
    }
    return pyusdt_probe_from_app((struct pyusdt_context *)context, app);
}

/* NULL with an exception. */
static PyObject *define_provider(PyObject *context, const char *provider, PyObject *list,
                                 struct pyusdt_probe_def *probes, struct pyusdt_probe_site *sites,
                                 Py_ssize_t n)
{
    char path[4096];
    struct pyusdt_error why;
    PyObject *objects;
    int r;

    for (Py_ssize_t i = 0; i < n; i++)
        if (read_probe(PyList_GET_ITEM(list, i), &probes[i]) < 0)
            return NULL;
    Py_BEGIN_ALLOW_THREADS /* it writes a file */
        r = pyusdt_provider_define(provider, probes, (unsigned)n, sites, path, sizeof path, &why);
    Py_END_ALLOW_THREADS if (r == -ENOMEM) return PyErr_NoMemory();
    if (r < 0)
        return PyErr_Format(PyExc_ValueError, "%s", why.message);
    objects = PyList_New(n);
    for (Py_ssize_t i = 0; objects != NULL && i < n; i++) {
        PyObject *object = new_object(context, provider, &probes[i], &sites[i], path,
                                      PyTuple_GET_ITEM(PyList_GET_ITEM(list, i), 2));
        if (object == NULL)
            Py_CLEAR(objects);
        else
            PyList_SET_ITEM(objects, i, object);
    }
    if (objects == NULL)
        return NULL;
    return Py_BuildValue("(NNs)", objects, PyUnicode_DecodeFSDefault(path), why.message);
}

PyObject *pyusdt_app_provider_define(PyObject *context, PyObject *args)
{
    const char *provider;
    PyObject *list, *result = NULL;
    struct pyusdt_probe_def *probes;
    struct pyusdt_probe_site *sites;
    Py_ssize_t n;

    if (!PyArg_ParseTuple(args, "sO!", &provider, &PyList_Type, &list))
        return NULL;
    n = PyList_GET_SIZE(list);
    if (n > PYUSDT_MAX_PROBES)
        return PyErr_Format(PyExc_ValueError, "a provider has at most %d probes",
                            PYUSDT_MAX_PROBES);
    probes = PyMem_Calloc((size_t)n + 1, sizeof *probes);
    sites = PyMem_Calloc((size_t)n + 1, sizeof *sites);
    if (probes == NULL || sites == NULL)
        PyErr_NoMemory();
    else
        result = define_provider(context, provider, list, probes, sites, n);
    PyMem_Free(probes);
    PyMem_Free(sites);
    return result;
}

PyObject *pyusdt_app_provider_check(PyObject *Py_UNUSED(context), PyObject *args)
{
    struct pyusdt_error why;
    const char *name;

    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    if (pyusdt_provider_check(name, &why) != 0)
        return PyErr_Format(PyExc_ValueError, "%s", why.message);
    Py_RETURN_NONE;
}
