/* The module's functions that cost almost nothing while a probe is off (see module_methods.h). */
#define PY_SSIZE_T_CLEAN
#include "_core_c/module_methods.h"

#include <string.h>

#include "_core_c/event_context.h"
#include "_core_c/convert.h"
#include "_core_c/fire.h"
#include "_core_c/app_providers.h"
#include "_core_c/probe_object.h"
#include "_core_c/wrapped_function.h"

static PyObject *raise_too_many(const char *function, Py_ssize_t most, Py_ssize_t given)
{
    return PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)", function,
                        most, given);
}

static PyObject *method_p(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs > PYUSDT_VALUES)
        return raise_too_many("p", PYUSDT_VALUES, nargs);
    if (!pyusdt_is_call_needed(PYUSDT_USER_TRACE_I4S4))
        Py_RETURN_FALSE;
    return pyusdt_fire_arguments((struct pyusdt_context *)self, PYUSDT_USER_TRACE_I4S4, args,
                                 nargs);
}

/* The index of the numbered probe that the first argument names; -1 with an exception. */
static int read_probe_number(const char *function, PyObject *const *args, Py_ssize_t nargs)
{
    int overflow = 0;
    long n;

    if (nargs == 0 || !PyLong_Check(args[0])) {
        PyErr_Format(PyExc_TypeError, "%s() takes the number of a probe first, an int", function);
        return -1;
    }
    n = PyLong_AsLongAndOverflow(args[0], &overflow);
    if (overflow != 0 || n < 0 || n >= PYUSDT_NUMBERED) {
        PyErr_Format(PyExc_ValueError, "%s(): the number of a probe is 0 to %d, not %S", function,
                     PYUSDT_NUMBERED - 1, args[0]);
        return -1;
    }
    return (int)PYUSDT_USER_TRACE_N0 + (int)n;
}

static PyObject *method_pn(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int probe;

    if (nargs > 1 + PYUSDT_VALUES)
        return raise_too_many("pn", 1 + PYUSDT_VALUES, nargs);
    probe = read_probe_number("pn", args, nargs);
    if (probe < 0)
        return NULL;
    if (!pyusdt_is_call_needed((unsigned)probe))
        Py_RETURN_FALSE;
    return pyusdt_fire_arguments((struct pyusdt_context *)self, (unsigned)probe, args + 1,
                                 nargs - 1);
}

static PyObject *method_s1(PyObject *self, PyObject *message)
{
    (void)self;
    if (!pyusdt_is_call_needed(PYUSDT_USER_TRACE_S1))
        Py_RETURN_FALSE;
    return pyusdt_fire_message(message);
}

/* A tag, then the eight values, each in its own place; missing ones are absent. */
static PyObject *fire_in_place(PyObject *self, unsigned probe, PyObject *const *args,
                               Py_ssize_t nargs)
{
    PyObject *values[PYUSDT_VALUES] = {NULL};

    if (nargs > 1)
        memcpy(values, args + 1, (size_t)(nargs - 1) * sizeof *values);
    return pyusdt_fire_values((struct pyusdt_context *)self, probe, nargs > 0 ? args[0] : Py_None,
                              values);
}

static PyObject *method_i4s4(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs > 1 + PYUSDT_VALUES)
        return raise_too_many("user_trace_i4s4", 1 + PYUSDT_VALUES, nargs);
    if (!pyusdt_is_call_needed(PYUSDT_USER_TRACE_I4S4))
        Py_RETURN_FALSE;
    return fire_in_place(self, PYUSDT_USER_TRACE_I4S4, args, nargs);
}

static PyObject *method_n(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int probe;

    if (nargs > 2 + PYUSDT_VALUES)
        return raise_too_many("user_trace_n", 2 + PYUSDT_VALUES, nargs);
    probe = read_probe_number("user_trace_n", args, nargs);
    if (probe < 0)
        return NULL;
    if (!pyusdt_is_call_needed((unsigned)probe))
        Py_RETURN_FALSE;
    return fire_in_place(self, (unsigned)probe, args + 1, nargs - 1);
}

/* What put_tag() stores: the text that probes have, made once. */
static PyObject *encode_tag(PyObject *self, PyObject *tag)
{
    struct pyusdt_text_source source;
    struct pyusdt_string text;
    PyObject *encoded;

    (void)self;
    pyusdt_text_source_open(&source, tag);
    pyusdt_string_set(&text, &source);
    if (text.address == NULL) {
        encoded = Py_None;
        Py_INCREF(encoded);
    } else {
        encoded = PyBytes_FromStringAndSize(text.address, (Py_ssize_t)text.length);
    }
    pyusdt_text_source_close(&source);
    return encoded;
}

/* The context's tag as text, which get_tag() and put_tag() return. */
static PyObject *tag_text(struct pyusdt_context *context)
{
    PyObject *data = NULL, *text;

    if (PyContextVar_Get(context->tag_variable, NULL, &data) < 0)
        return NULL;
    if (data == NULL || !PyBytes_Check(data)) { /* None: no tag */
        Py_XDECREF(data);
        Py_RETURN_NONE;
    }
    text = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data), "replace");
    Py_DECREF(data);
    return text;
}

static PyObject *get_tag(PyObject *self, PyObject *unused)
{
    (void)unused;
    return tag_text((struct pyusdt_context *)self);
}

static PyObject *put_tag(PyObject *self, PyObject *tag)
{
    struct pyusdt_context *context = (struct pyusdt_context *)self;
    PyObject *before = tag_text(context), *encoded = before != NULL ? encode_tag(self, tag) : NULL;
    PyObject *token = encoded != NULL ? PyContextVar_Set(context->tag_variable, encoded) : NULL;

    if (token == NULL)
        Py_CLEAR(before);
    Py_XDECREF(token);
    Py_XDECREF(encoded);
    return before;
}

#define FASTCALL(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef callables[] = {
    {"p", FASTCALL(method_p), METH_FASTCALL,
     "p(*args, /)\n--\n\n"
     "Fire user_trace-i4s4 with up to four integers, then up to four strings.\n\n"
     "- Integers are taken modulo 2**64. None is an absent value: 0 or NULL.\n"
     "- A str is encoded as UTF-8; bytes-like objects are used unchanged; any other object is converted with str().\n"
     "- Strings end at the first NUL and are cut to 1023 bytes.\n"
     "- While no tracer is attached, no argument is converted.\n\n"
     "Returns True if the event was offered to a tracer. Raises TypeError for more than eight arguments, traced or not."},
    {"pn", FASTCALL(method_pn), METH_FASTCALL,
     "pn(n, /, *args)\n--\n\n"
     "Fire user_trace-n<n>, n from 0 to 950, with the arguments of p().\n\n"
     "Raises TypeError if n is not an int and ValueError if it is out of range, traced or not."},
    {"user_trace_s1", method_s1, METH_O,
     "user_trace_s1(message, /)\n--\n\n"
     "Fire user_trace-s1 with one string, converted as by p(). Returns the same as p()."},
    {"user_trace_i4s4", FASTCALL(method_i4s4), METH_FASTCALL,
     "user_trace_i4s4(tag=None, i1=None, i2=None, i3=None, i4=None, s1=None, s2=None, s3=None, s4=None, /)\n--\n\n"
     "Fire user_trace-i4s4 with the given tag and each value in its own place, as OTP's dyntrace does.\n\n"
     "Values are converted as by p(). An integer argument that is not an int is 0. Returns the same as p(). Raises TypeError\n"
     "for more than nine arguments, traced or not."},
    {"user_trace_n", FASTCALL(method_n), METH_FASTCALL,
     "user_trace_n(n, tag=None, i1=None, i2=None, i3=None, i4=None, s1=None, s2=None, s3=None, s4=None, /)\n--\n\n"
     "Fire user_trace-n<n>, n as for pn(), with the other arguments of user_trace_i4s4()."},
    {"probe", pyusdt_probe_new, METH_O,
     "probe(name, /)\n--\n\n"
     "Return the probe of that name, as D writes it (user_trace-i4s4) or as its note does (user_trace__i4s4).\n\n"
     "Raises ValueError if there is no such probe and TypeError if name is not a str."},
    {"encode_tag", encode_tag, METH_O,
     "encode_tag(tag, /)\n--\n\n"
     "The bytes of a tag in an event, or None."},
    {"get_tag", get_tag, METH_NOARGS,
     "get_tag()\n--\n\n"
     "Return the tag of the current context as text, or None if it has no tag."},
    {"put_tag", put_tag, METH_O,
     "put_tag(tag, /)\n--\n\n"
     "Set the tag of the current context; None removes it.\n\n"
     "tag: str, bytes-like or any other object, converted as p() converts a string: UTF-8, up to the first NUL, at\n"
     "most 1023 bytes. Returns the former tag, as get_tag() does."},
    {"define", pyusdt_app_provider_define, METH_VARARGS,
     "define(provider, probes, /)\n--\n\n"
     "The probes of an application provider: probes is a list of (name, types), types as bytes, one an argument (pyusdt.h).\n"
     "Returns the Probe objects, the path of their object file or '', and why there is none or ''.\n"
     "ValueError for an invalid name or types."},
    {"check_provider", pyusdt_app_provider_check, METH_VARARGS,
     "check_provider(name, /)\n--\n\n"
     "ValueError, with the rule, for an invalid name of a provider."},
    {"wrapped", pyusdt_wrapped_new, METH_VARARGS,
     "wrapped(probe, function, observed, /)\n--\n\n"
     "An object that calls function while the probe is off, else observed; for Probe.wrap()."},
    {NULL, NULL, 0, NULL},
};

/* Adds an object and takes ownership of the reference; NULL is an error that has been raised. */
static int add_object(PyObject *module, const char *name, PyObject *object)
{
    int failed = object == NULL || PyObject_SetAttrString(module, name, object) < 0;

    Py_XDECREF(object);
    return failed ? -1 : 0;
}

static int add_callables(PyObject *module, PyObject *context, PyObject *module_name)
{
    for (PyMethodDef *each = callables; each->ml_name != NULL; each++)
        if (add_object(module, each->ml_name, PyCFunction_NewEx(each, context, module_name)) < 0)
            return -1;
    return 0;
}

int pyusdt_module_add_methods(PyObject *module)
{
    PyTypeObject *type = pyusdt_context_type();
    struct pyusdt_context *context = type != NULL ? pyusdt_context_new(type) : NULL;
    PyObject *public_name = PyUnicode_InternFromString("pyusdt"), *numbers;
    int result = -1;

    Py_XDECREF(type); /* the context has its own */
    if (context == NULL || public_name == NULL)
        goto out;
    context->probe_type = pyusdt_probe_type();
    context->wrapped_type = pyusdt_wrapped_type();
    if (context->probe_type == NULL || context->wrapped_type == NULL)
        goto out;
    numbers = PyDictProxy_New(
        context->task_numbers); /* for readers from outside; never written through */
    Py_INCREF(context->probe_type);
    Py_INCREF(context->tag_variable);
    if (numbers == NULL || add_object(module, "Probe", (PyObject *)context->probe_type) < 0 ||
        add_object(module, "tag_variable", context->tag_variable) < 0 ||
        add_object(module, "task_numbers", numbers) < 0)
        goto out;
    result = add_callables(module, (PyObject *)context, public_name);
out:
    Py_XDECREF(public_name);
    Py_XDECREF(context);
    return result;
}

int pyusdt_module_publish(const char *module_name)
{
    const struct pyusdt_probe_desc table[] = {PYUSDT_USER_TRACE_FAMILIES(module_name)};

    return pyusdt_publish(table, sizeof table / sizeof table[0]);
}

int pyusdt_module_has_sites(void)
{
    return PYUSDT_SITES;
}
