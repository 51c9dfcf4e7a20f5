/* One event of a user-trace probe: see native/fire.h. */
#define PY_SSIZE_T_CLEAN
#include "native/fire.h"

#include <string.h>

#include "native/event.h"
#include "native/pending.h"

/* The probes' arguments, as include/user_trace.d has them. */
enum {
    ARG_WHO = 0,
    ARG_TAG = 1,
    ARG_INTEGER = 2,
    ARG_STRING = ARG_INTEGER + PYUSDT_INTEGERS,
    ARG_COUNT = ARG_STRING + PYUSDT_STRINGS,
};

int pyusdt_strict_flag;

static void event_fire(const struct pyusdt_event *event)
{
    if (event->attached)
        pyusdt_site_hit(event->probe, event->args.value);
    if (event->demand != 0)
        pyusdt_fire(event->probe, &event->args);
}

/* A text that an object has as it is needed.  0: this one has to be made. */
static int event_plain(struct pyusdt_event *event, unsigned arg, PyObject *object)
{
    return pyusdt_string_plain(pyusdt_event_reads(event, arg) ? object : NULL, &event->args.value[arg],
                               &event->args.length[arg]);
}

/* The usual event: every text is there already, nothing of the application's runs for it.  0: not so, nothing is done.
 * noinline: the frame is large, and must not stand below what the application runs for other events. */
__attribute__((noinline)) static int fire_plain(struct pyusdt_event *event, const struct pyusdt_task *task, PyObject *tag,
                                                PyObject *const *strings)
{
    struct pyusdt_string who;

    if (!event_plain(event, ARG_TAG, tag))
        return 0;
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        if (!event_plain(event, ARG_STRING + i, strings[i]))
            return 0;
    pyusdt_string_set_who(&who, pyusdt_event_reads(event, ARG_WHO), task);
    pyusdt_event_string(event, ARG_WHO, &who);
    pyusdt_event_no_more(event, ARG_COUNT);
    event_fire(event);
    return 1;
}

/* The texts of a general event that may have to be made. */
struct sources {
    struct pyusdt_source tag;
    struct pyusdt_source strings[PYUSDT_STRINGS];
};

/* The large frame: nothing of the application's runs below it. */
__attribute__((noinline)) static void fire_made(struct pyusdt_event *event, const struct pyusdt_task *task,
                                                const struct sources *sources)
{
    struct pyusdt_string who, tag, strings[PYUSDT_STRINGS];

    pyusdt_string_set_who(&who, pyusdt_event_reads(event, ARG_WHO), task);
    pyusdt_event_string(event, ARG_WHO, &who);
    pyusdt_string_set(&tag, &sources->tag);
    pyusdt_event_string(event, ARG_TAG, &tag);
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++) {
        pyusdt_string_set(&strings[i], &sources->strings[i]);
        pyusdt_event_string(event, ARG_STRING + i, &strings[i]);
    }
    pyusdt_event_no_more(event, ARG_COUNT);
    event_fire(event);
}

/* Opening the sources is all that may run the application's code. */
static void fire_general(struct pyusdt_event *event, const struct pyusdt_task *task, PyObject *tag, PyObject *const *strings)
{
    struct sources sources;

    pyusdt_source_open(&sources.tag, pyusdt_event_reads(event, ARG_TAG) ? tag : NULL);
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        pyusdt_source_open(&sources.strings[i], pyusdt_event_reads(event, ARG_STRING + i) ? strings[i] : NULL);
    fire_made(event, task, &sources);
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        pyusdt_source_close(&sources.strings[i]);
    pyusdt_source_close(&sources.tag);
}

__attribute__((noinline)) static void fire_message(struct pyusdt_event *event, const struct pyusdt_source *message)
{
    struct pyusdt_string text;

    pyusdt_string_set(&text, message);
    pyusdt_event_string(event, 0, &text);
    pyusdt_event_no_more(event, 1);
    event_fire(event);
}

/* Modulo 2^64; what is no int is 0. */
static uint64_t integer(PyObject *value)
{
    return value != NULL && PyLong_Check(value) ? pyusdt_integer(value) : 0;
}

static int check_strict(PyObject *const *values)
{
    for (unsigned i = 0; i < PYUSDT_VALUES; i++) {
        PyObject *value = values[i];
        if (value == NULL || value == Py_None)
            continue;
        if (i < PYUSDT_INTEGERS && !PyLong_Check(value)) {
            PyErr_Format(PyExc_TypeError, "integer %u must be int or None, not %.200s", i + 1, Py_TYPE(value)->tp_name);
            return -1;
        }
        if (i >= PYUSDT_INTEGERS && !PyUnicode_Check(value) && !PyObject_CheckBuffer(value)) {
            PyErr_Format(PyExc_TypeError, "string %u must be str, bytes-like or None, not %.200s",
                         i + 1 - PYUSDT_INTEGERS, Py_TYPE(value)->tp_name);
            return -1;
        }
    }
    return 0;
}

int pyusdt_place(PyObject *values[PYUSDT_VALUES], PyObject *const *args, Py_ssize_t nargs)
{
    unsigned integers = 0, strings = 0;

    memset(values, 0, PYUSDT_VALUES * sizeof *values);
    for (Py_ssize_t i = 0; i < nargs; i++) {
        PyObject *arg = args[i];
        if (strings == 0 && integers < PYUSDT_INTEGERS && (PyLong_Check(arg) || arg == Py_None)) {
            values[integers++] = arg;
        } else if (strings < PYUSDT_STRINGS) {
            values[PYUSDT_INTEGERS + strings++] = arg;
        } else if (pyusdt_is_strict()) {
            PyErr_SetString(PyExc_TypeError, "at most four integers, then at most four strings");
            return -1;
        }
    }
    return 0;
}

PyObject *pyusdt_offer(struct pyusdt_context *context, unsigned probe, PyObject *tag,
                       PyObject *const values[PYUSDT_VALUES])
{
    struct pyusdt_event event;
    struct pyusdt_pending pending;
    struct pyusdt_task task = {NULL, NULL};
    PyObject *tag_of_context = NULL;

    if (pyusdt_is_strict() && check_strict(values) < 0)
        return NULL;
    if (!pyusdt_event_begin(&event, probe, pyusdt_attached(probe)))
        Py_RETURN_FALSE;
    pyusdt_pending_save(&pending);
    for (unsigned i = 0; i < PYUSDT_INTEGERS; i++)
        event.args.value[ARG_INTEGER + i] = integer(values[i]);
    if (pyusdt_event_reads(&event, ARG_WHO))
        pyusdt_context_task(context, &task);
    if (tag == NULL && pyusdt_event_reads(&event, ARG_TAG))
        tag = tag_of_context = pyusdt_context_tag(context);
    if (!fire_plain(&event, &task, tag, values + PYUSDT_INTEGERS))
        fire_general(&event, &task, tag, values + PYUSDT_INTEGERS);
    Py_XDECREF(tag_of_context);
    pyusdt_task_release(&task);
    pyusdt_pending_restore(&pending);
    Py_RETURN_TRUE;
}

PyObject *pyusdt_offer_message(PyObject *message)
{
    struct pyusdt_event event;
    struct pyusdt_source source;
    struct pyusdt_pending pending;

    if (pyusdt_is_strict() && message != Py_None && !PyUnicode_Check(message) && !PyObject_CheckBuffer(message))
        return PyErr_Format(PyExc_TypeError, "the message must be str, bytes-like or None, not %.200s",
                            Py_TYPE(message)->tp_name);
    if (!pyusdt_event_begin(&event, PYUSDT_USER_TRACE_S1, pyusdt_attached(PYUSDT_USER_TRACE_S1)))
        Py_RETURN_FALSE;
    pyusdt_pending_save(&pending);
    pyusdt_source_open(&source, pyusdt_event_reads(&event, 0) ? message : NULL);
    fire_message(&event, &source);
    pyusdt_source_close(&source);
    pyusdt_pending_restore(&pending);
    Py_RETURN_TRUE;
}
