/* Converts Python objects to the strings of an event (see convert.h). */
#define PY_SSIZE_T_CLEAN
#include "_core_c/convert.h"

#include <string.h>

#include "target/proc_id.h"

void pyusdt_swallow_exception(void)
{
    int interrupted = PyErr_Occurred() != NULL && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);

    PyErr_Clear();
    if (interrupted)
        PyErr_SetInterrupt();
}

static void set_absent(struct pyusdt_string *string)
{
    string->address = NULL;
    string->length = 0;
}

/* `size` bytes somewhere. terminated: data[size] may be read and is NUL, and data lives long
 * enough. */
static void set_bytes(struct pyusdt_string *string, const char *data, size_t size, int terminated)
{
    uint32_t length = pyusdt_text_length(data, size);

    string->length = length;
    /* this check of the NUL also brings its page into memory, which may begin with it */
    if (terminated && *(const volatile char *)(data + length) == '\0') {
        string->address = data;
    } else {
        memcpy(string->buffer, data, length);
        string->buffer[length] = '\0';
        string->address = string->buffer;
    }
}

/* One character's UTF-8 at `at` (4 bytes must be free); a surrogate is a question mark. Returns
 * the bytes written. */
static size_t encode_character(char *at, Py_UCS4 c)
{
    if (c < 0x80) {
        at[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        at[0] = (char)(0xc0 | c >> 6);
        at[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (Py_UNICODE_IS_SURROGATE(c)) {
        at[0] = '?';
        return 1;
    }
    if (c < 0x10000) {
        at[0] = (char)(0xe0 | c >> 12);
        at[1] = (char)(0x80 | (c >> 6 & 0x3f));
        at[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    at[0] = (char)(0xf0 | c >> 18);
    at[1] = (char)(0x80 | (c >> 12 & 0x3f));
    at[2] = (char)(0x80 | (c >> 6 & 0x3f));
    at[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* A str's UTF-8 up to its first NUL or `room` bytes. Written here rather than by CPython, which
 * would encode all of a long string and keep the result with it. */
static size_t encode_str(char *at, size_t room, PyObject *str)
{
    Py_ssize_t characters = PyUnicode_GET_LENGTH(str);
    int kind = (int)PyUnicode_KIND(str);
    const void *data = PyUnicode_DATA(str);
    size_t length = 0;

    for (Py_ssize_t i = 0; i < characters; i++) {
        char one[4];
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        size_t size = encode_character(one, c);
        if (c == 0 || length + size > room)
            break;
        memcpy(at + length, one, size);
        length += size;
    }
    return length;
}

static int str_is_ready(PyObject *str)
{
#if PY_VERSION_HEX < 0x030c0000
    if (PyUnicode_READY(str) < 0) {
        pyusdt_swallow_exception();
        return 0;
    }
#else
    (void)str;
#endif
    return 1;
}

static void set_str(struct pyusdt_string *string, PyObject *str)
{
    if (!str_is_ready(str)) {
        set_absent(string);
    } else if (PyUnicode_IS_COMPACT_ASCII(str)) {
        set_bytes(string, PyUnicode_DATA(str), (size_t)PyUnicode_GET_LENGTH(str), 1);
    } else {
        string->length = (uint32_t)encode_str(string->buffer, PYUSDT_MAX_STRING, str);
        string->buffer[string->length] = '\0';
        string->address = string->buffer;
    }
}

void pyusdt_text_source_open(struct pyusdt_text_source *source, PyObject *object)
{
    source->text = NULL;
    source->held = NULL;
    source->view.obj = NULL;
    if (object == NULL || object == Py_None)
        return;
    if (PyUnicode_Check(object) || PyBytes_Check(object)) {
        source->text = object;
    } else if (PyObject_CheckBuffer(object)) {
        if (PyObject_GetBuffer(object, &source->view, PyBUF_SIMPLE) < 0) {
            source->view.obj = NULL;
            pyusdt_swallow_exception();
        }
    } else {
        source->text = source->held = PyObject_Str(object);
        if (source->text == NULL)
            pyusdt_swallow_exception();
    }
}

void pyusdt_text_source_close(struct pyusdt_text_source *source)
{
    if (source->view.obj != NULL)
        PyBuffer_Release(&source->view);
    Py_CLEAR(source->held);
}

void pyusdt_string_set(struct pyusdt_string *string, const struct pyusdt_text_source *source)
{
    PyObject *text = source->text;

    if (source->view.obj != NULL)
        set_bytes(string, source->view.len > 0 ? source->view.buf : "", (size_t)source->view.len,
                  0);
    else if (text == NULL)
        set_absent(string);
    else if (PyBytes_Check(text))
        set_bytes(string, PyBytes_AS_STRING(text), (size_t)PyBytes_GET_SIZE(text), 1);
    else
        set_str(string, text);
}

/* The number comes first, so that no name is too long for it. */
static void append_task(struct pyusdt_string *string, const struct pyusdt_task *task)
{
    size_t length = string->length - 1; /* without the > */
    char *text = string->buffer;

    memcpy(text, string->address, length);
    text[length++] = '.';
    memcpy(text + length, PyBytes_AS_STRING(task->number), (size_t)PyBytes_GET_SIZE(task->number));
    length += (size_t)PyBytes_GET_SIZE(task->number);
    if (task->name != NULL && PyUnicode_Check(task->name) && str_is_ready(task->name)) {
        text[length++] = '.';
        length += encode_str(text + length, PYUSDT_MAX_STRING - 1 - length, task->name);
    }
    text[length++] = '>';
    text[length] = '\0';
    string->address = text;
    string->length = (uint32_t)length;
}

void pyusdt_string_set_proc(struct pyusdt_string *string, int wanted,
                            const struct pyusdt_task *task)
{
    if (!wanted) {
        set_absent(string);
        return;
    }
    string->address = pyusdt_proc_id(&string->length);
    if (task->number != NULL)
        append_task(string, task);
}
