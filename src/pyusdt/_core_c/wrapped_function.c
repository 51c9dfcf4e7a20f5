/* Functions with a probe around them (see wrapped_function.h). */
#include "_core_c/wrapped_function.h"

#include <stddef.h>
#include <structmember.h>

#include "_core_c/event_context.h"
#include "_core_c/probe_object.h"

struct wrapped {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *probe;
    PyObject *function;
    PyObject *observed; /* the same with the probe fired around it (_probe_wrap.py) */
    PyObject *dict;
    PyObject *weak_references;
};

static PyObject *wrapped_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf,
                                    PyObject *keywords)
{
    const struct wrapped *self = (struct wrapped *)object;
    PyObject *callee = self->function;

    if (pyusdt_probe_enabled(self->probe) &&
        self->observed != NULL) /* NULL: it is being collected as garbage */
        callee = self->observed;
    return PyObject_Vectorcall(callee, args, nargsf, keywords);
}

static PyObject *wrapped_descr_get(PyObject *self, PyObject *instance, PyObject *owner)
{
    (void)owner;
    if (instance == NULL || instance == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, instance);
}

static PyObject *wrapped_getattro(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);

    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    return PyObject_GetAttr(((struct wrapped *)self)->function, name);
}

static PyObject *wrapped_repr(PyObject *self)
{
    return PyUnicode_FromFormat("<%R with %R around it>", ((struct wrapped *)self)->function,
                                ((struct wrapped *)self)->probe);
}

/* Pickled by its name, as a function is. */
static PyObject *wrapped_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString(self, "__qualname__");
}

static int wrapped_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct wrapped *self = (struct wrapped *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->probe);
    Py_VISIT(self->function);
    Py_VISIT(self->observed);
    Py_VISIT(self->dict);
    return 0;
}

static int wrapped_clear(PyObject *object)
{
    struct wrapped *self = (struct wrapped *)object;

    Py_CLEAR(self->observed);
    Py_CLEAR(self->dict);
    return 0; /* everything that a call needs stays until the end */
}

static void wrapped_dealloc(PyObject *object)
{
    struct wrapped *self = (struct wrapped *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weak_references != NULL)
        PyObject_ClearWeakRefs(object);
    wrapped_clear(object);
    Py_CLEAR(self->probe);
    Py_CLEAR(self->function);
    type->tp_free(object);
    Py_DECREF(type);
}

PyTypeObject *pyusdt_wrapped_type(void)
{
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct wrapped, vectorcall), READONLY, NULL},
        {"__dictoffset__", T_PYSSIZET, offsetof(struct wrapped, dict), READONLY, NULL},
        {"__weaklistoffset__", T_PYSSIZET, offsetof(struct wrapped, weak_references), READONLY,
         NULL},
        {NULL, 0, 0, 0, NULL},
    };
    static PyMethodDef methods[] = {
        {"__reduce__", wrapped_reduce, METH_NOARGS, NULL},
        {NULL, NULL, 0, NULL},
    };
    static PyGetSetDef attributes[] = {
        {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
        {NULL, NULL, NULL, NULL, NULL},
    };
    static PyType_Slot slots[] = {
        {Py_tp_call, PyVectorcall_Call},    {Py_tp_descr_get, wrapped_descr_get},
        {Py_tp_getattro, wrapped_getattro}, {Py_tp_setattro, PyObject_GenericSetAttr},
        {Py_tp_repr, wrapped_repr},         {Py_tp_dealloc, wrapped_dealloc},
        {Py_tp_traverse, wrapped_traverse}, {Py_tp_clear, wrapped_clear},
        {Py_tp_members, members},           {Py_tp_methods, methods},
        {Py_tp_getset, attributes},         {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "pyusdt._core._Wrapped",
        .basicsize = sizeof(struct wrapped),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                 Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

PyObject *pyusdt_wrapped_new(PyObject *context, PyObject *args)
{
    PyTypeObject *probe_type = ((struct pyusdt_context *)context)->probe_type;
    PyTypeObject *type = ((struct pyusdt_context *)context)->wrapped_type;
    PyObject *probe, *function, *observed;
    struct wrapped *self;

    if (!PyArg_ParseTuple(args, "O!OO", probe_type, &probe, &function, &observed))
        return NULL;
    self = (struct wrapped *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->vectorcall = wrapped_vectorcall;
    Py_INCREF(self->probe = probe);
    Py_INCREF(self->function = function);
    Py_INCREF(self->observed = observed);
    return (PyObject *)self;
}

PyObject *pyusdt_probe_wrap(PyObject *probe, PyObject *function)
{
    PyObject *module = PyImport_ImportModule("pyusdt._probe_wrap"), *result;

    if (module == NULL)
        return NULL;
    result = PyObject_CallMethod(module, "wrap", "OO", probe, function);
    Py_DECREF(module);
    return result;
}
