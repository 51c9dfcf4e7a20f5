/* The numbers of asyncio tasks: see native/tasks.h.
 *
 * They stand in a dictionary by the tasks' addresses, each beside a weak reference, whose callback takes both out before the
 * address can be another task's.  A dictionary by weak references would need a new one for each look, which costs thrice as
 * much; an attribute of the task's would be seen by the application. */
#include "native/tasks.h"

#include "shared/core.h"

/* Called by the weak reference of a task that has ended.  place: the dictionary, and the key. */
static PyObject *forget(PyObject *place, PyObject *Py_UNUSED(reference))
{
    if (PyDict_DelItem(PyTuple_GET_ITEM(place, 0), PyTuple_GET_ITEM(place, 1)) < 0)
        PyErr_Clear(); /* the dictionary was cleared before */
    Py_RETURN_NONE;
}

/* In microseconds, or one more than the last: a forked child goes on with its parent's, and so does the next one, which may have
 * the same process id. */
static uint64_t next_number(void)
{
    static uint64_t last;
    uint64_t now = pyusdt_now() / 1000, before = __atomic_load_n(&last, __ATOMIC_RELAXED), number;

    do
        number = now > before ? now : before + 1;
    while (!__atomic_compare_exchange_n(&last, &before, number, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return number;
}

static PyObject *reference_of(PyObject *numbers, PyObject *address, PyObject *task)
{
    static PyMethodDef def = {"forget", forget, METH_O, NULL};
    PyObject *place = PyTuple_Pack(2, numbers, address);
    PyObject *callback = place != NULL ? PyCFunction_New(&def, place) : NULL;
    PyObject *reference = callback != NULL ? PyWeakref_NewRef(task, callback) : NULL;

    Py_XDECREF(place);
    Py_XDECREF(callback);
    return reference;
}

static PyObject *add(PyObject *numbers, PyObject *address, PyObject *task)
{
    PyObject *number = PyBytes_FromFormat("%zu", (size_t)next_number());
    PyObject *reference = number != NULL ? reference_of(numbers, address, task) : NULL;
    PyObject *entry = reference != NULL ? PyTuple_Pack(2, number, reference) : NULL;

    if (entry == NULL || PyDict_SetItem(numbers, address, entry) < 0)
        Py_CLEAR(number);
    Py_XDECREF(reference);
    Py_XDECREF(entry);
    return number;
}

PyObject *pyusdt_task_number(struct pyusdt_context *context, PyObject *task)
{
    PyObject *address = PyLong_FromVoidPtr(task), *number = NULL, *entry;

    if (address == NULL)
        return NULL;
    entry = PyDict_GetItemWithError(context->task_numbers, address);
    if (entry != NULL)
        Py_INCREF(number = PyTuple_GET_ITEM(entry, 0));
    else if (!PyErr_Occurred())
        number = add(context->task_numbers, address, task);
    Py_DECREF(address);
    return number;
}
