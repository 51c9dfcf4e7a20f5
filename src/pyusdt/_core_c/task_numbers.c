/*
 * The numbers of asyncio tasks and greenlets (see task_numbers.h).
 *
 * A dictionary maps the address of a task to its number and a weak reference. The callback of the
 * reference removes the entry before another task can get the address. A dictionary by weak
 * references would allocate one for each lookup and cost three times as much; an attribute of the
 * task would be visible to the application.
 */
#include "_core_c/task_numbers.h"

#include "_core_c/saved_exception.h"
#include "_core_c/remarks.h"
#include "target/target.h"

/* Called by the weak reference of a task that has ended.  place: the dictionary, and the key. */
static PyObject *remove_ended(PyObject *place, PyObject *Py_UNUSED(reference))
{
    if (PyDict_DelItem(PyTuple_GET_ITEM(place, 0), PyTuple_GET_ITEM(place, 1)) < 0)
        PyErr_Clear(); /* the dictionary was cleared before */
    Py_RETURN_NONE;
}

/* In microseconds, or one more than the last. A forked child continues with its parent's numbers,
 * and so does the next child, which may have the same process id. */
static uint64_t next_number(void)
{
    static uint64_t last;
    uint64_t now = pyusdt_now() / 1000, before = __atomic_load_n(&last, __ATOMIC_RELAXED), number;

    do
        number = now > before ? now : before + 1;
    while (!__atomic_compare_exchange_n(&last, &before, number, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return number;
}

static PyObject *make_reference(PyObject *numbers, PyObject *address, PyObject *task)
{
    static PyMethodDef def = {"forget", remove_ended, METH_O, NULL};
    PyObject *place = PyTuple_Pack(2, numbers, address);
    PyObject *callback = place != NULL ? PyCFunction_New(&def, place) : NULL;
    PyObject *reference = callback != NULL ? PyWeakref_NewRef(task, callback) : NULL;

    Py_XDECREF(place);
    Py_XDECREF(callback);
    return reference;
}

/* name: or NULL.  New reference to the entry: (number, weak reference, name or None). */
static PyObject *add_entry(PyObject *numbers, PyObject *address, PyObject *task, PyObject *name)
{
    PyObject *number = PyBytes_FromFormat("%zu", (size_t)next_number());
    PyObject *reference = number != NULL ? make_reference(numbers, address, task) : NULL;
    PyObject *entry = reference != NULL
                          ? PyTuple_Pack(3, number, reference, name != NULL ? name : Py_None)
                          : NULL;

    if (entry == NULL || PyDict_SetItem(numbers, address, entry) < 0)
        Py_CLEAR(entry);
    Py_XDECREF(number);
    Py_XDECREF(reference);
    return entry;
}

/* New reference to the entry, or NULL: not found, perhaps with an exception. */
static PyObject *find_entry(PyObject *numbers, PyObject *address)
{
    PyObject *entry = PyDict_GetItemWithError(numbers, address);

    Py_XINCREF(entry);
    return entry;
}

PyObject *pyusdt_task_number(struct pyusdt_context *context, PyObject *task)
{
    PyObject *address = PyLong_FromVoidPtr(task), *number = NULL, *entry;

    if (address == NULL)
        return NULL;
    entry = find_entry(context->task_numbers, address);
    if (entry == NULL && !PyErr_Occurred())
        entry = add_entry(context->task_numbers, address, task, NULL);
    if (entry != NULL)
        Py_INCREF(number = PyTuple_GET_ITEM(entry, 0));
    Py_XDECREF(entry);
    Py_DECREF(address);
    return number;
}

/* The first greenlet of a thread has no parent. */
static int is_of_thread(PyObject *greenlet)
{
    PyObject *parent = PyObject_GetAttrString(greenlet, "parent");
    int first = parent == Py_None;

    Py_XDECREF(parent);
    return first;
}

/* gevent's greenlets have a name, others none. */
static PyObject *read_name(PyObject *greenlet)
{
    PyObject *name = PyObject_GetAttrString(greenlet, "name");

    if (name == NULL)
        PyErr_Clear();
    return name;
}

/* The name is read once: that costs more than the event, and raises an exception if there is none.
 */
static PyObject *add_greenlet(PyObject *numbers, PyObject *address, PyObject *greenlet)
{
    PyObject *name, *entry;

    if (is_of_thread(greenlet) || PyErr_Occurred())
        return NULL;
    name = read_name(greenlet);
    entry = add_entry(numbers, address, greenlet, name);
    Py_XDECREF(name);
    return entry;
}

void pyusdt_greenlet_number(struct pyusdt_context *context, PyObject *greenlet,
                            struct pyusdt_task *task)
{
    PyObject *address = PyLong_FromVoidPtr(greenlet), *entry;

    if (address == NULL)
        return;
    entry = find_entry(context->task_numbers, address);
    if (entry == NULL && !PyErr_Occurred())
        entry = add_greenlet(context->task_numbers, address, greenlet);
    if (entry != NULL) {
        Py_INCREF(task->number = PyTuple_GET_ITEM(entry, 0));
        Py_INCREF(task->name = PyTuple_GET_ITEM(entry, 2));
        Py_DECREF(entry);
    }
    Py_DECREF(address);
}

/* ---- tasks that share a thread ---- */

uint32_t pyusdt_task_checks;

/* The result of a function of a loaded module: new reference, or NULL, perhaps with an exception.
 */
static PyObject *call_loaded(const char *module_name, const char *function_name, PyObject *argument)
{
    PyObject *name = PyUnicode_FromString(module_name), *result = NULL;
    PyObject *function = name != NULL ? pyusdt_loaded_attribute(name, function_name) : NULL;

    if (function != NULL)
        result = argument != NULL ? PyObject_CallOneArg(function, argument)
                                  : PyObject_CallNoArgs(function);
    Py_XDECREF(function);
    Py_XDECREF(name);
    return result;
}

/* The running asyncio task of the thread's loop; *has_loop: whether there is one. New reference,
 * or NULL, perhaps with an exception. */
static PyObject *running_task(int *has_loop)
{
    PyObject *loop = call_loaded("asyncio.events", "_get_running_loop", NULL), *task = NULL;

    *has_loop = loop != NULL && loop != Py_None;
    if (*has_loop)
        task = call_loaded("asyncio.tasks", "current_task", loop);
    if (task == Py_None)
        Py_CLEAR(task);
    Py_XDECREF(loop);
    return task;
}

/* Whether another one has fired on this thread before. before: the thread's; now: an address, or
 * NULL for none. */
static int is_another(const void **before, const void *now)
{
    if (*before == NULL)
        *before = now;
    return now != NULL && now != *before;
}

static void detect_several(int with_tasks)
{
    static _Thread_local const void *task_before, *greenlet_before;
    struct pyusdt_saved_exception saved;
    int has_loop = 0, are_several;
    PyObject *task, *greenlet = NULL;

    pyusdt_exception_save(&saved);
    task = with_tasks ? running_task(&has_loop) : NULL;
    if (!has_loop && !PyErr_Occurred())
        greenlet = call_loaded("greenlet", "getcurrent", NULL);
    if (PyErr_Occurred())
        PyErr_Clear();
    are_several = is_another(&task_before, task) || is_another(&greenlet_before, greenlet);
    Py_XDECREF(task); /* a running task does not end now */
    Py_XDECREF(greenlet);
    pyusdt_exception_restore(&saved);
    if (are_several &&
        pyusdt_remark_set(
            PYUSDT_REMARK_OF_TASKS, "", "",
            "fires probes in several asyncio tasks or greenlets of a thread, which share self->x; of user_trace probes task->x is a "
            "variable of each",
            PYUSDT_REMARK_SHARED) == 0)
        __atomic_store_n(&pyusdt_task_checks, PYUSDT_TASKS_REPORTED, __ATOMIC_RELAXED);
}

void pyusdt_detect_tasks(void)
{
    detect_several(1);
}

void pyusdt_detect_greenlets(void)
{
    if (__atomic_load_n(&pyusdt_task_checks, __ATOMIC_RELAXED) != PYUSDT_TASKS_REPORTED)
        detect_several(0);
}
