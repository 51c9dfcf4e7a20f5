/* See running_task.h. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "_core_c/vm/running_task.h"

#if PYUSDT_READS_OBJECTS

#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_tstate.h>
#endif

enum { THREADING, ACTIVE, NAME, ASYNCIO, TASKS, THREAD, GET_NAME, NAMES };

static PyObject *names[NAMES];

int pyusdt_running_start(void)
{
    static const char *const texts[NAMES] = {
        [THREADING] = "threading", [ACTIVE] = "_active",       [NAME] = "_name",
        [ASYNCIO] = "_asyncio",    [TASKS] = "_current_tasks", [THREAD] = "_thread_id",
        [GET_NAME] = "get_name",
    };

    for (int i = 0; i < NAMES; i++)
        if (names[i] == NULL && (names[i] = PyUnicode_InternFromString(texts[i])) == NULL)
            return -1;
    return 0;
}

static PyObject *read_of_module(int module, int name)
{
    PyObject *modules = PyImport_GetModuleDict(), *found = NULL;

    if (modules != NULL)
        found = pyusdt_read_key(modules, names[module]);
    return found != NULL && PyModule_Check(found)
               ? pyusdt_read_key(PyModule_GetDict(found), names[name])
               : NULL;
}

PyObject *pyusdt_running_thread_name(void)
{
    PyObject *active = read_of_module(THREADING, ACTIVE), *thread;

    if (active == NULL || !PyDict_Check(active))
        return NULL;
    thread = pyusdt_read_index(active, (int64_t)PyThread_get_thread_ident());
    return thread != NULL ? pyusdt_read_attribute(thread, names[NAME]) : NULL;
}

/* ---- the task ---- */

#if PY_VERSION_HEX >= 0x030e0000

static PyObject *find_task(void)
{
    return ((_PyThreadStateImpl *)PyThreadState_Get())->asyncio_running_task;
}

#else

struct search {
    int64_t thread;
    PyObject *task;
};

/* The loop is the key; one that is not Python's own has no number of its thread. */
static int compare_loop(void *arg, PyObject *loop, PyObject *task)
{
    struct search *search = arg;
    PyObject *number = pyusdt_read_attribute(loop, names[THREAD]);
    int64_t thread;

    if (number == NULL || !PyLong_Check(number) || !pyusdt_read_int(number, &thread) ||
        thread != search->thread)
        return 1;
    search->task = task;
    return 0;
}

static PyObject *find_task(void)
{
    struct search search = {(int64_t)PyThread_get_thread_ident(), NULL};
    PyObject *tasks = read_of_module(ASYNCIO, TASKS);

    if (tasks != NULL && PyDict_Check(tasks))
        pyusdt_visit_items(tasks, compare_loop, &search);
    return search.task;
}

#endif

/* The method in C of asyncio's own class makes the name when it is asked first. */
static PyObject *call_get_name(PyObject *task)
{
    PyObject *method = _PyType_Lookup(Py_TYPE(task), names[GET_NAME]), *name;

    if (method == NULL || !Py_IS_TYPE(method, &PyMethodDescr_Type))
        return NULL;
    name = PyObject_CallOneArg(method, task);
    if (name == NULL)
        PyErr_Clear();
    return name;
}

PyObject *pyusdt_running_task_name(void)
{
    PyObject *task = find_task(), *name;

    Py_XINCREF(task);
    pyusdt_unlock_to(0);
    if (task == NULL)
        return NULL;
    name = call_get_name(task);
    if (name == NULL) {
        name = pyusdt_read_attribute(task, names[NAME]); /* of a class in Python */
        Py_XINCREF(name);
        pyusdt_unlock_to(0);
    }
    Py_DECREF(task);
    return name;
}

#else
typedef int pyusdt_no_running_task; /* a file has to have something in it */
#endif
