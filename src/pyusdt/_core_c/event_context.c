/* The tag and the task of an event (see event_context.h). */
#include "_core_c/event_context.h"

#include "_core_c/convert.h"
#include "_core_c/task_numbers.h"

static int context_traverse(struct pyusdt_context *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->tag_variable);
    Py_VISIT(self->modules);
    Py_VISIT(self->probe_type);
    Py_VISIT(self->wrapped_type);
    Py_VISIT(self->get_running_loop);
    Py_VISIT(self->current_task);
    Py_VISIT(self->current_greenlet);
    Py_VISIT(self->task_numbers);
    return 0;
}

static int context_clear(struct pyusdt_context *self)
{
    Py_CLEAR(self->tag_variable);
    Py_CLEAR(self->modules);
    Py_CLEAR(self->probe_type);
    Py_CLEAR(self->wrapped_type);
    Py_CLEAR(self->get_running_loop);
    Py_CLEAR(self->current_task);
    Py_CLEAR(self->current_greenlet);
    Py_CLEAR(self->events_name);
    Py_CLEAR(self->tasks_name);
    Py_CLEAR(self->get_name);
    Py_CLEAR(self->greenlet_name);
    Py_CLEAR(self->task_numbers);
    return 0;
}

static void context_dealloc(struct pyusdt_context *self)
{
    PyTypeObject *type = Py_TYPE(self);

    PyObject_GC_UnTrack(self);
    context_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyTypeObject *pyusdt_context_type(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_traverse, context_traverse},
        {Py_tp_clear, context_clear},
        {Py_tp_dealloc, context_dealloc},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "pyusdt._core._Context",
        .basicsize = sizeof(struct pyusdt_context),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
        .slots = slots,
    };
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

struct pyusdt_context *pyusdt_context_new(PyTypeObject *type)
{
    struct pyusdt_context *self = (struct pyusdt_context *)type->tp_alloc(type, 0);

    if (self == NULL)
        return NULL;
    self->tag_variable = PyContextVar_New("pyusdt_tag", Py_None);
    self->modules = PyImport_GetModuleDict();
    Py_XINCREF(self->modules);
    self->events_name = PyUnicode_InternFromString("asyncio.events");
    self->tasks_name = PyUnicode_InternFromString("asyncio.tasks");
    self->get_name = PyUnicode_InternFromString("get_name");
    self->greenlet_name = PyUnicode_InternFromString("greenlet");
    self->task_numbers = PyDict_New();
    if (self->tag_variable == NULL || self->modules == NULL || self->events_name == NULL ||
        self->tasks_name == NULL || self->get_name == NULL || self->greenlet_name == NULL ||
        self->task_numbers == NULL)
        Py_CLEAR(self);
    return self;
}

PyObject *pyusdt_context_tag(struct pyusdt_context *context)
{
    PyObject *tag = NULL;

    if (context->tag_variable == NULL)
        return NULL; /* the interpreter is being taken down */
    if (PyContextVar_Get(context->tag_variable, NULL, &tag) < 0)
        pyusdt_swallow_exception();
    if (tag != NULL && !PyBytes_Check(tag))
        Py_CLEAR(tag); /* None: no tag */
    return tag;
}

PyObject *pyusdt_loaded_attribute(PyObject *module_name, const char *attribute)
{
    PyObject *module = PyImport_GetModule(module_name);
    PyObject *value = module != NULL ? PyObject_GetAttrString(module, attribute) : NULL;

    Py_XDECREF(module);
    if (value == NULL)
        PyErr_Clear(); /* not loaded, or not whole yet */
    return value;
}

static PyObject *load_acquire(PyObject **place)
{
    return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

/* Without the GIL, another thread may do the same at the same time. Whether the place is filled
 * now. */
static int set_once(PyObject **place, PyObject *module_name, const char *attribute)
{
    PyObject *none = NULL, *value;

    if (load_acquire(place) != NULL)
        return 1;
    value = pyusdt_loaded_attribute(module_name, attribute);
    if (value == NULL)
        return 0;
    if (!__atomic_compare_exchange_n(place, &none, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        Py_DECREF(value);
    return 1;
}

/* Finds the functions of asyncio and greenlet. While a module is missing, it is looked up again
 * only after the number of loaded modules has changed, since a lookup costs a fifth of an event.
 * current_task is set last: a thread that sees it sees the other, too. */
static void find_functions(struct pyusdt_context *context)
{
    Py_ssize_t loaded;

    if ((load_acquire(&context->current_task) != NULL &&
         load_acquire(&context->current_greenlet) != NULL) ||
        context->modules == NULL)
        return; /* all are known, or the interpreter is being taken down */
    loaded = PyDict_GET_SIZE(context->modules);
    if (__atomic_load_n(&context->modules_seen, __ATOMIC_RELAXED) == loaded)
        return;
    __atomic_store_n(&context->modules_seen, loaded, __ATOMIC_RELAXED);
    if (set_once(&context->get_running_loop, context->events_name, "_get_running_loop"))
        set_once(&context->current_task, context->tasks_name, "current_task");
    set_once(&context->current_greenlet, context->greenlet_name, "getcurrent");
}

/* The running task, or NULL; an exception may be pending. */
static PyObject *running_task(struct pyusdt_context *context)
{
    PyObject *loop = PyObject_CallNoArgs(context->get_running_loop), *task = NULL;

    if (loop != NULL && loop != Py_None) /* None is the usual case, and no error */
        task = PyObject_CallOneArg(context->current_task, loop);
    Py_XDECREF(loop);
    if (task == Py_None)
        Py_CLEAR(task);
    return task;
}

/* A task within a greenlet is the task: SQLAlchemy's asyncio extension runs one so. */
void pyusdt_context_task(struct pyusdt_context *context, struct pyusdt_task *task)
{
    PyObject *running = NULL;

    find_functions(context);
    if (context->task_numbers != NULL && load_acquire(&context->current_task) != NULL)
        running = running_task(context);
    if (running != NULL) {
        task->number = pyusdt_task_number(context, running);
        if (task->number != NULL)
            task->name = PyObject_CallMethodNoArgs(running, context->get_name);
    } else if (context->task_numbers != NULL && load_acquire(&context->current_greenlet) != NULL &&
               !PyErr_Occurred()) {
        running = PyObject_CallNoArgs(context->current_greenlet);
        if (running != NULL)
            pyusdt_greenlet_number(context, running, task);
    }
    Py_XDECREF(running);
    if (PyErr_Occurred())
        pyusdt_swallow_exception();
}

void pyusdt_task_release(struct pyusdt_task *task)
{
    Py_XDECREF(task->number);
    Py_XDECREF(task->name);
}
