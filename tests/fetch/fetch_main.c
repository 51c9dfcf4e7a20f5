/* An extension module `fetch_main`, for programs/random_paths.py: run(program, object, limit) runs a program of a
 * tracer's on an object, and gives None (absent), or (number, real, text, truncated). load(program) gives what is wrong. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "_core_c/vm/fetch_program.h"
#include "_core_c/vm/secret_names.h"
#include "_core_c/vm/value_conditions.h"

static __thread int is_reading;

/* in_read(): whether this thread reads a value, so that the code that asks runs within it. */
static PyObject *in_read(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(is_reading);
}

static PyObject *run(PyObject *self, PyObject *args)
{
    char text[PYUSDT_FETCH_TEXT + 1];
    struct pyusdt_fetch_program *program;
    struct pyusdt_fetched found;
    PyObject *given;
    Py_buffer bytes;
    const char *wrong;
    uint32_t size;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*O", &bytes, &given))
        return NULL;
    program = pyusdt_fetch_load(bytes.buf, (size_t)bytes.len, &wrong);
    PyBuffer_Release(&bytes);
    if (program == NULL)
        return PyErr_Format(PyExc_ValueError, "%s", wrong != NULL ? wrong : "no memory");
    size = pyusdt_fetch_text_size(program);
    memset(text, 0x55, sizeof text);
    is_reading = 1;
    pyusdt_fetch_run(program, given, text, &found);
    is_reading = 0;
    pyusdt_fetch_free(program);
    if (text[size] != 0x55 || found.length > size)
        return PyErr_Format(PyExc_SystemError, "it wrote behind its buffer");
    if (PyErr_Occurred())
        return NULL;
    if (!found.present)
        Py_RETURN_NONE;
    return Py_BuildValue("(Ldy#i)", (long long)found.number, found.real, text,
                         (Py_ssize_t)found.length, (int)found.truncated);
}

static const struct pyusdt_fetched *read_path(void *from, unsigned number, const char **text)
{
    static const struct pyusdt_fetched found = {.present = 1, .length = 2, .number = 7};

    *text = (char *)from + number;
    return &found;
}

static int64_t read_argument(void *from, unsigned number)
{
    return from != NULL ? (int64_t)number : -1;
}

/* hold(conditions, probe): with paths 0 to 2 that are 7, or the texts "ab", "bc", "cd"; argument n is n. */
static PyObject *hold(PyObject *self, PyObject *args)
{
    static char texts[] = "abcd";
    struct pyusdt_conditions conditions;
    Py_buffer bytes;
    unsigned probe;
    int loaded;

    (void)self;
    if (!PyArg_ParseTuple(args, "y*I", &bytes, &probe))
        return NULL;
    loaded = pyusdt_conditions_are(bytes.buf, (size_t)bytes.len) &&
             pyusdt_conditions_load(bytes.buf, (size_t)bytes.len, 3, &conditions);
    PyBuffer_Release(&bytes);
    if (!loaded)
        Py_RETURN_NONE;
    return PyBool_FromLong(pyusdt_conditions_hold(
        &conditions, probe, &(struct pyusdt_condition_subjects){texts, read_path, read_argument}));
}

static PyObject *is_secret(PyObject *self, PyObject *name)
{
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(name, &size);

    (void)self;
    return bytes != NULL ? PyBool_FromLong(pyusdt_is_secret(bytes, (size_t)size)) : NULL;
}

static PyObject *is_supported(PyObject *self, PyObject *none)
{
    (void)self;
    (void)none;
    return PyBool_FromLong(pyusdt_fetch_is_supported());
}

static PyMethodDef methods[] = {{"run", run, METH_VARARGS, NULL},
                                {"in_read", in_read, METH_NOARGS, NULL},
                                {"hold", hold, METH_VARARGS, NULL},
                                {"is_secret", is_secret, METH_O, NULL},
                                {"is_supported", is_supported, METH_NOARGS, NULL},
                                {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "fetch_main", .m_size = -1,
                                    .m_methods = methods};

PyMODINIT_FUNC PyInit_fetch_main(void)
{
    PyObject *made = PyModule_Create(&module);

#ifdef Py_GIL_DISABLED
    if (made != NULL)
        PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    return made;
}
