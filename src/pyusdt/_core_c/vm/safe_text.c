/*
 * The text of an exception and the names of a C function, without running code of the program (see
 * python_provider.h).
 *
 * str() and getattr() call methods, properties and metaclasses of the program. So only C code of
 * Python's own classes is asked here. If that is not enough, the text is shorter, or there is no
 * name.
 */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/python_provider.h"

#include <string.h>

/* Longer arguments are not put together into one text: it would cost the program as much as they
 * are long. */
#define LARGEST_ARGUMENT 1024

/* ---- exceptions ---- */

static int is_small_number(PyObject *value)
{
    int overflow = 0;

    return PyLong_CheckExact(value) &&
           (PyLong_AsLongLongAndOverflow(value, &overflow), overflow == 0);
}

/* Whether str() and repr() of a value run only C, and are short. */
static int is_plain(PyObject *value)
{
    if (value == NULL || value == Py_None || PyBool_Check(value) || PyFloat_CheckExact(value))
        return 1;
    if (PyUnicode_CheckExact(value))
        return PyUnicode_GET_LENGTH(value) <= LARGEST_ARGUMENT;
    if (PyBytes_CheckExact(value))
        return PyBytes_GET_SIZE(value) <= LARGEST_ARGUMENT;
    return is_small_number(value);
}

static int all_plain(PyObject *arguments)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); i++)
        if (!is_plain(PyTuple_GET_ITEM(arguments, i)))
            return 0;
    return 1;
}

/* Whether everything that str() reads of it besides its arguments is plain. A class with a method
 * of its own (one in Python, or one in C that is not known here) is not. */
static int is_str_plain(PyObject *exception)
{
    reprfunc text = Py_TYPE(exception)->tp_str;

    if (text == ((PyTypeObject *)PyExc_BaseException)->tp_str ||
        text == ((PyTypeObject *)PyExc_KeyError)->tp_str ||
        text == ((PyTypeObject *)PyExc_ImportError)->tp_str) /* its message only if that is a str */
        return 1;
    if (text == ((PyTypeObject *)PyExc_OSError)->tp_str) {
        const PyOSErrorObject *error = (PyOSErrorObject *)exception;
        return is_plain(error->myerrno) && is_plain(error->strerror) && is_plain(error->filename) &&
               is_plain(error->filename2);
    }
    if (text == ((PyTypeObject *)PyExc_SyntaxError)->tp_str) {
        const PySyntaxErrorObject *error = (PySyntaxErrorObject *)exception;
        return is_plain(error->msg) && is_plain(error->filename) && is_plain(error->lineno);
    }
    return 0;
}

PyObject *pyusdt_vm_exception_text(PyObject *exception)
{
    PyObject *arguments = ((PyBaseExceptionObject *)exception)->args, *text = NULL;

    if (arguments == NULL || !PyTuple_CheckExact(arguments))
        return NULL;
    if (PyTuple_GET_SIZE(arguments) > 0 && PyUnicode_CheckExact(PyTuple_GET_ITEM(arguments, 0)))
        text = PyTuple_GET_ITEM(arguments, 0); /* the available text if str() cannot be called */
    if (is_str_plain(exception) && all_plain(arguments))
        text = PyObject_Str(exception);
    else
        Py_XINCREF(text);
    if (text == NULL)
        PyErr_Clear();
    return text;
}

/* ---- functions of C ---- */

static int has_method(const PyTypeObject *type, const PyMethodDef *method)
{
    for (const PyMethodDef *own = type->tp_methods; own != NULL && own->ml_name != NULL; own++)
        if (own == method)
            return 1;
    return 0;
}

/* The class among a class and its bases that has defined the method: every subclass's object
 * calls it under the same name. */
static PyTypeObject *find_defining_class(PyTypeObject *type, const PyMethodDef *method)
{
    for (Py_ssize_t i = 0; type->tp_mro != NULL && i < PyTuple_GET_SIZE(type->tp_mro); i++)
        if (has_method((PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i), method))
            return (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
    return type;
}

/* The class that it is a method of; NULL: a function of a module. */
static PyTypeObject *find_class(PyObject *callable)
{
    PyObject *self;

    if (Py_TYPE(callable) == &PyMethodDescr_Type)
        return ((PyMethodDescrObject *)callable)->d_common.d_type;
    self = PyCFunction_GET_SELF(callable);
    if (self == NULL || PyModule_Check(self))
        return NULL;
    return find_defining_class(PyType_Check(self) ? (PyTypeObject *)self : Py_TYPE(self),
                               ((PyCFunctionObject *)callable)->m_ml);
}

/* The module and the qualified name of a class made at run time, as the class statement has left
 * them; new references, or NULL. */
static void read_heap_class_names(PyTypeObject *type, PyObject **module, PyObject **name)
{
    PyObject *own = PyDict_GetItemString(type->tp_dict, "__module__");

    Py_XINCREF(*module = own);
    Py_XINCREF(*name = ((PyHeapTypeObject *)type)->ht_qualname);
}

/* For a class in C: "module.name", or only the name for builtins. */
static void read_static_class_names(const PyTypeObject *type, PyObject **module, PyObject **name)
{
    const char *dot = strrchr(type->tp_name, '.');

    *module = dot != NULL ? PyUnicode_FromStringAndSize(type->tp_name, dot - type->tp_name)
                          : PyUnicode_FromString("builtins");
    *name = PyUnicode_FromString(dot != NULL ? dot + 1 : type->tp_name);
}

static const char *read_name(PyObject *callable)
{
    return Py_TYPE(callable) == &PyMethodDescr_Type
               ? ((PyMethodDescrObject *)callable)->d_method->ml_name
               : ((PyCFunctionObject *)callable)->m_ml->ml_name;
}

static void read_method_names(PyObject *callable, PyTypeObject *type, PyObject **module,
                              PyObject **function)
{
    PyObject *name;

    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        read_heap_class_names(type, module, &name);
    else
        read_static_class_names(type, module, &name);
    *function = name != NULL && PyUnicode_Check(name)
                    ? PyUnicode_FromFormat("%U.%s", name, read_name(callable))
                    : NULL;
    Py_XDECREF(name);
}

void pyusdt_vm_function_names(PyObject *callable, PyObject **module, PyObject **function)
{
    PyTypeObject *type = find_class(callable);

    if (type != NULL) {
        read_method_names(callable, type, module, function);
    } else {
        Py_XINCREF(*module = ((PyCFunctionObject *)callable)->m_module);
        *function = PyUnicode_FromString(read_name(callable));
    }
    PyErr_Clear();
}
