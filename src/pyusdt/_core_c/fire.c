/* Fires one event of a user-trace probe (see fire.h). */
#define PY_SSIZE_T_CLEAN
#include "_core_c/fire.h"

#include <string.h>

#include "_core_c/convert.h"
#include "_core_c/saved_exception.h"
#include "_core_c/task_numbers.h"

int pyusdt_strict_flag;

static void set_string(struct pyusdt_firing *firing, unsigned arg,
                       const struct pyusdt_string *string)
{
    pyusdt_firing_text(firing, arg, string->address, string->length);
}

/* A text that an object has as it is needed.  0: this one has to be made. */
static int set_plain(struct pyusdt_firing *firing, unsigned arg, PyObject *object)
{
    return pyusdt_string_set_plain(pyusdt_firing_reads(firing, arg) ? object : NULL,
                                   &firing->args.value[arg], &firing->args.length[arg]);
}

/* The usual event: every text exists already, and no code of the application runs for it. 0: it is
 * another one, and nothing is done. noinline: the frame is large, and must not be on the stack
 * while the application runs for other events. */
__attribute__((noinline)) static int fire_plain(struct pyusdt_firing *firing,
                                                const struct pyusdt_task *task, PyObject *tag,
                                                PyObject *const *strings)
{
    struct pyusdt_string proc;

    if (!set_plain(firing, PYUSDT_ARG_TAG, tag))
        return 0;
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        if (!set_plain(firing, PYUSDT_ARG_STRING + i, strings[i]))
            return 0;
    pyusdt_string_set_proc(&proc, pyusdt_firing_reads(firing, PYUSDT_ARG_PROC), task);
    set_string(firing, PYUSDT_ARG_PROC, &proc);
    pyusdt_firing_no_more(firing, PYUSDT_ARG_COUNT);
    pyusdt_firing_offer(firing);
    return 1;
}

/* The texts of a general event that may have to be made. */
struct sources {
    struct pyusdt_text_source tag;
    struct pyusdt_text_source strings[PYUSDT_STRINGS];
};

/* The large frame: nothing of the application's runs below it. */
__attribute__((noinline)) static void fire_converted(struct pyusdt_firing *firing,
                                                     const struct pyusdt_task *task,
                                                     const struct sources *sources)
{
    struct pyusdt_string proc, tag, strings[PYUSDT_STRINGS];

    pyusdt_string_set_proc(&proc, pyusdt_firing_reads(firing, PYUSDT_ARG_PROC), task);
    set_string(firing, PYUSDT_ARG_PROC, &proc);
    pyusdt_string_set(&tag, &sources->tag);
    set_string(firing, PYUSDT_ARG_TAG, &tag);
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++) {
        pyusdt_string_set(&strings[i], &sources->strings[i]);
        set_string(firing, PYUSDT_ARG_STRING + i, &strings[i]);
    }
    pyusdt_firing_no_more(firing, PYUSDT_ARG_COUNT);
    pyusdt_firing_offer(firing);
}

/* Opening the sources is all that may run the application's code. */
static void fire_general(struct pyusdt_firing *firing, const struct pyusdt_task *task,
                         PyObject *tag, PyObject *const *strings)
{
    struct sources sources;

    pyusdt_text_source_open(&sources.tag, pyusdt_firing_reads(firing, PYUSDT_ARG_TAG) ? tag : NULL);
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        pyusdt_text_source_open(&sources.strings[i],
                                pyusdt_firing_reads(firing, PYUSDT_ARG_STRING + i) ? strings[i]
                                                                                   : NULL);
    fire_converted(firing, task, &sources);
    for (unsigned i = 0; i < PYUSDT_STRINGS; i++)
        pyusdt_text_source_close(&sources.strings[i]);
    pyusdt_text_source_close(&sources.tag);
}

__attribute__((noinline)) static void fire_message_text(struct pyusdt_firing *firing,
                                                        const struct pyusdt_text_source *message)
{
    struct pyusdt_string text;

    pyusdt_string_set(&text, message);
    set_string(firing, 0, &text);
    pyusdt_firing_no_more(firing, 1);
    pyusdt_firing_offer(firing);
}

/* Modulo 2^64; anything but an int is 0. */
static uint64_t convert_integer(PyObject *value)
{
    return value != NULL && PyLong_Check(value) ? pyusdt_integer_modulo_64(value) : 0;
}

static int check_strict(PyObject *const *values)
{
    for (unsigned i = 0; i < PYUSDT_VALUES; i++) {
        PyObject *value = values[i];
        if (value == NULL || value == Py_None)
            continue;
        if (i < PYUSDT_INTEGERS && !PyLong_Check(value)) {
            PyErr_Format(PyExc_TypeError, "integer %u must be int or None, not %.200s", i + 1,
                         Py_TYPE(value)->tp_name);
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

/* Converts the arguments of a call. -1 with an exception in strict mode, else 0. */
static int place_arguments(PyObject *values[PYUSDT_VALUES], PyObject *const *args, Py_ssize_t nargs)
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

PyObject *pyusdt_fire_values(struct pyusdt_context *context, unsigned probe, PyObject *tag,
                             PyObject *const values[PYUSDT_VALUES])
{
    struct pyusdt_firing firing;
    struct pyusdt_saved_exception saved;
    struct pyusdt_task task = {NULL, NULL};
    PyObject *tag_of_context = NULL;

    if (pyusdt_is_strict() && check_strict(values) < 0)
        return NULL;
    if (!pyusdt_firing_begin(&firing, probe, pyusdt_attached(probe)))
        Py_RETURN_FALSE;
    pyusdt_detect_tasks_sometimes();
    pyusdt_exception_save(&saved);
    for (unsigned i = 0; i < PYUSDT_INTEGERS; i++)
        firing.args.value[PYUSDT_ARG_INTEGER + i] = convert_integer(values[i]);
    if (pyusdt_firing_reads(&firing, PYUSDT_ARG_PROC))
        pyusdt_context_task(context, &task);
    if (tag == NULL && pyusdt_firing_reads(&firing, PYUSDT_ARG_TAG))
        tag = tag_of_context = pyusdt_context_tag(context);
    if (!fire_plain(&firing, &task, tag, values + PYUSDT_INTEGERS))
        fire_general(&firing, &task, tag, values + PYUSDT_INTEGERS);
    Py_XDECREF(tag_of_context);
    pyusdt_task_release(&task);
    pyusdt_exception_restore(&saved);
    Py_RETURN_TRUE;
}

PyObject *pyusdt_fire_arguments(struct pyusdt_context *context, unsigned probe,
                                PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *values[PYUSDT_VALUES];

    if (place_arguments(values, args, nargs) < 0)
        return NULL;
    return pyusdt_fire_values(context, probe, NULL, values);
}

PyObject *pyusdt_fire_message(PyObject *message)
{
    struct pyusdt_firing firing;
    struct pyusdt_text_source source;
    struct pyusdt_saved_exception saved;

    if (pyusdt_is_strict() && message != Py_None && !PyUnicode_Check(message) &&
        !PyObject_CheckBuffer(message))
        return PyErr_Format(PyExc_TypeError,
                            "the message must be str, bytes-like or None, not %.200s",
                            Py_TYPE(message)->tp_name);
    if (!pyusdt_firing_begin(&firing, PYUSDT_USER_TRACE_S1, pyusdt_attached(PYUSDT_USER_TRACE_S1)))
        Py_RETURN_FALSE;
    pyusdt_exception_save(&saved);
    pyusdt_text_source_open(&source, pyusdt_firing_reads(&firing, 0) ? message : NULL);
    fire_message_text(&firing, &source);
    pyusdt_text_source_close(&source);
    pyusdt_exception_restore(&saved);
    Py_RETURN_TRUE;
}
