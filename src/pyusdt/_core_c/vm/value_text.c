/* See value_text.h. */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/value_text.h"

#if PYUSDT_READS_OBJECTS

#include <stdio.h>
#include <string.h>

#include "_core_c/vm/frame_reads.h"
#include "_core_c/vm/known_types.h"
#include "_core_c/vm/secret_names.h"

#define CUT "…"
#define BUSY "<busy>" /* another thread changes it */

struct writer {
    char *text;
    uint32_t size, room; /* what is written; the most, without the mark of a cut */
    int is_full, is_busy, with_secrets, has_veto, depth;
};

static void write_value(struct writer *writer, PyObject *value);

/* ---- bytes ---- */

static void put(struct writer *writer, const char *bytes, size_t size)
{
    if (writer->is_full || size > writer->room - writer->size) {
        writer->is_full = 1;
        return;
    }
    memcpy(writer->text + writer->size, bytes, size);
    writer->size += (uint32_t)size;
}

static void put_string(struct writer *writer, const char *string)
{
    put(writer, string, strlen(string));
}

static void put_number(struct writer *writer, const char *format, long long number)
{
    char text[64];

    put(writer, text, (size_t)snprintf(text, sizeof text, format, number));
}

static void put_utf8(struct writer *writer, Py_UCS4 c)
{
    char bytes[4];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (size == 1)
        bytes[0] = (char)c;
    for (size_t i = size - 1; size > 1 && i > 0; i--, c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    if (size > 1)
        bytes[0] = (char)((0xf00u >> size & 0xff) | c);
    put(writer, bytes, size);
}

/* A character between quotes, as repr() has it. */
static void put_quoted(struct writer *writer, Py_UCS4 c, Py_UCS4 limit)
{
    if (c == '\'' || c == '\\') {
        put_string(writer, c == '\\' ? "\\\\" : "\\'");
    } else if (c == '\n' || c == '\r' || c == '\t') {
        put_string(writer, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
    } else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c >= limit) {
        put_number(writer, c < 0x100 ? "\\x%02llx" : "\\u%04llx", c);
    } else if (c >= 0xd800 && c < 0xe000) {
        put_number(writer, "\\u%04llx", c);
    } else {
        put_utf8(writer, c);
    }
}

static void put_rest(struct writer *writer, Py_ssize_t length, const char *unit)
{
    if (length <= PYUSDT_TEXT_CHARACTERS)
        return;
    put_number(writer, CUT " (%lld ", length);
    put_string(writer, unit);
    put_string(writer, ")");
}

static Py_ssize_t shown(Py_ssize_t length, Py_ssize_t most)
{
    return length < most ? length : most;
}

static void write_str(struct writer *writer, PyObject *value)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);

    put_string(writer, "'");
    for (Py_ssize_t i = 0; i < shown(length, PYUSDT_TEXT_CHARACTERS); i++)
        put_quoted(writer, PyUnicode_READ_CHAR(value, i), 0x110000);
    put_string(writer, "'");
    put_rest(writer, length, "characters");
}

static void write_bytes(struct writer *writer, PyObject *value)
{
    Py_ssize_t length = PyBytes_GET_SIZE(value);

    put_string(writer, "b'");
    for (Py_ssize_t i = 0; i < shown(length, PYUSDT_TEXT_CHARACTERS); i++)
        put_quoted(writer, (unsigned char)PyBytes_AS_STRING(value)[i], 0x7f);
    put_string(writer, "'");
    put_rest(writer, length, "bytes");
}

static void put_characters(struct writer *writer, PyObject *name, Py_ssize_t most)
{
    for (Py_ssize_t i = 0; i < shown(PyUnicode_GET_LENGTH(name), most); i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(name, i);

        put_utf8(writer,
                 c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) ? '?' : c);
    }
}

static void put_name(struct writer *writer, PyObject *name)
{
    put_characters(writer, name, PYUSDT_TEXT_CHARACTERS);
}

/* ---- numbers ---- */

static void write_int(struct writer *writer, PyObject *value)
{
    char text[PYUSDT_KNOWN_TEXT];

    put(writer, text, pyusdt_write_int(value, text, sizeof text));
}

/* Its text is made in memory that the collector does not look at. */
static void write_float(struct writer *writer, PyObject *value)
{
    char *text = PyOS_double_to_string(PyFloat_AS_DOUBLE(value), 'r', 0, Py_DTSF_ADD_DOT_0, NULL);

    if (text == NULL)
        PyErr_Clear();
    put_string(writer, text != NULL ? text : "<float>");
    PyMem_Free(text);
}

/* ---- names ---- */

enum { KNOWN_NAMES = 256, KNOWN_LENGTH = 40 };

/* Names that were looked up, since the same ones come again and again. */
static PYUSDT_PER_THREAD struct {
    uint8_t length, is_secret;
    char bytes[KNOWN_LENGTH];
} known_names[KNOWN_NAMES];

static int is_secret(const char *bytes, size_t length)
{
    unsigned at;

    if (length == 0 || length > KNOWN_LENGTH)
        return pyusdt_is_secret(bytes, length);
    at = (unsigned)(length * 31) + (unsigned char)bytes[0] * 7u +
         (unsigned char)bytes[length / 2] * 13u + (unsigned char)bytes[length - 1] * 17u;
    at %= KNOWN_NAMES;
    if (known_names[at].length != length || memcmp(known_names[at].bytes, bytes, length) != 0) {
        known_names[at].length = (uint8_t)length;
        memcpy(known_names[at].bytes, bytes, length);
        known_names[at].is_secret = pyusdt_is_secret(bytes, length) != 0;
    }
    return known_names[at].is_secret;
}

/* Whether what has this name is not shown. */
static int is_hidden(const struct writer *writer, PyObject *name)
{
    char bytes[PYUSDT_SECRET_NAME + 1];
    struct writer copy = {.text = bytes, .room = sizeof bytes - 1};

    if (PyBytes_Check(name))
        put(&copy, PyBytes_AS_STRING(name),
            (size_t)shown(PyBytes_GET_SIZE(name), PYUSDT_SECRET_NAME));
    else if (PyUnicode_Check(name) && PyUnicode_IS_READY(name))
        put_characters(&copy, name, PYUSDT_SECRET_NAME);
    else
        return 0;
    bytes[copy.size] = '\0';
    return (writer->has_veto && pyusdt_is_forbidden(bytes, copy.size)) ||
           (!writer->with_secrets && is_secret(bytes, copy.size));
}

static void write_named(struct writer *writer, PyObject *name, PyObject *value)
{
    if (is_hidden(writer, name))
        put_string(writer, "<redacted>");
    else
        write_value(writer, value);
}

/* Without its module, as __qualname__ would need more. */
static void put_type(struct writer *writer, PyTypeObject *type)
{
    char name[PYUSDT_TYPE_NAME];
    size_t size = pyusdt_read_type_name(type, name, sizeof name);
    const char *dot = memrchr(name, '.', size);
    size_t before = dot != NULL ? (size_t)(dot + 1 - name) : 0;

    put(writer, name + before, size - before);
}

static void put_whole_type(struct writer *writer, PyTypeObject *type)
{
    char name[PYUSDT_TYPE_NAME];

    put(writer, name, pyusdt_read_type_name(type, name, sizeof name));
}

/* ---- containers ---- */

struct list {
    struct writer *writer;
    Py_ssize_t n;
    int is_started; /* something is before the first */
};

/* 0: there is no room for one more item. */
static int begin_item(struct list *list)
{
    if (list->is_started)
        put_string(list->writer, ", ");
    list->is_started = 1;
    if (list->n++ == PYUSDT_TEXT_ITEMS)
        put_string(list->writer, CUT);
    return list->n <= PYUSDT_TEXT_ITEMS && !list->writer->is_full;
}

/* Behind the last item that was looked at, if there are more: a large dict or set keeps the places
 * of items that were removed. */
static void mark_rest(struct list *list, Py_ssize_t length)
{
    if (list->n >= length || list->n > PYUSDT_TEXT_ITEMS)
        return;
    list->n = PYUSDT_TEXT_ITEMS;
    begin_item(list);
}

static int write_pair(void *arg, PyObject *key, PyObject *value)
{
    struct list *list = arg;

    if (!begin_item(list))
        return 0;
    write_value(list->writer, key);
    put_string(list->writer, ": ");
    write_named(list->writer, key, value);
    return 1;
}

static void write_field(struct writer *writer, PyObject *name, PyObject *value)
{
    put_name(writer, name);
    put_string(writer, "=");
    write_named(writer, name, value);
}

static int write_attribute(void *arg, PyObject *name, PyObject *value)
{
    struct list *list = arg;

    if (!PyUnicode_Check(name))
        return 1;
    if (!begin_item(list))
        return 0;
    write_field(list->writer, name, value);
    return 1;
}

static void write_dict(struct writer *writer, PyObject *value)
{
    struct list list = {.writer = writer};

    put_string(writer, "{");
    if (!pyusdt_visit_items(value, write_pair, &list))
        put_string(writer, BUSY);
    mark_rest(&list, pyusdt_read_length(value));
    put_string(writer, "}");
}

/* Headers and environments are often lists of (name, value). */
static void write_items(struct writer *writer, PyObject *const *items, Py_ssize_t n)
{
    struct list list = {.writer = writer};

    for (Py_ssize_t i = 0; i < n && items[i] != NULL && begin_item(&list); i++) {
        if (n == 2 && i == 1)
            write_named(writer, items[0], items[1]);
        else
            write_value(writer, items[i]);
    }
}

static void write_set(struct writer *writer, PyObject *value)
{
    PySetObject *set = (PySetObject *)value;
    struct list list = {.writer = writer};

    if (!pyusdt_lock(value)) {
        put_string(writer, BUSY);
        return;
    }
    if (set->used == 0) {
        put_string(writer, PyFrozenSet_Check(value) ? "frozenset()" : "set()");
        return;
    }
    put_string(writer, PyFrozenSet_Check(value) ? "frozenset({" : "{");
    for (Py_ssize_t i = 0, seen = 0; i <= set->mask && seen < set->used && i < PYUSDT_READ_VISITS;
         i++) {
        if (set->table[i].key == NULL || set->table[i].hash == -1)
            continue; /* free, or was in use */
        seen++;
        if (!begin_item(&list))
            break;
        write_value(writer, set->table[i].key);
    }
    mark_rest(&list, set->used);
    put_string(writer, PyFrozenSet_Check(value) ? "})" : "}");
}

static void write_fields(struct writer *writer, PyObject *value)
{
    struct list list = {.writer = writer};

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(value) && begin_item(&list); i++) {
        PyObject *name = pyusdt_read_field_name(value, i), *item = PyTuple_GET_ITEM(value, i);

        if (item == NULL)
            break;
        if (name != NULL)
            write_field(writer, name, item);
        else
            write_value(writer, item);
    }
}

static void write_list(struct writer *writer, PyObject *value)
{
    put_string(writer, "[");
    if (pyusdt_lock(value))
        write_items(writer, ((PyListObject *)value)->ob_item, Py_SIZE(value));
    else
        put_string(writer, BUSY);
    put_string(writer, "]");
}

static void write_tuple(struct writer *writer, PyObject *value)
{
    Py_ssize_t n = Py_SIZE(value);

    if (pyusdt_read_field_name(value, 0) != NULL) {
        write_fields(writer, value); /* in the parentheses of its type */
        return;
    }
    put_string(writer, "(");
    write_items(writer, ((PyTupleObject *)value)->ob_item, n);
    put_string(writer, n == 1 ? ",)" : ")");
}

/* ---- objects ---- */

/* 0: it is of no known type. A time zone's value may have its own attributes. */
static int write_known(struct writer *writer, PyObject *value)
{
    char text[PYUSDT_KNOWN_TEXT];
    PyObject *zone;
    size_t size = pyusdt_write_known(value, text, sizeof text, &zone);

    put(writer, text, size);
    if (zone != NULL) {
        put_string(writer, ", tzinfo=");
        write_value(writer, zone);
        put_string(writer, ")");
    }
    return size != 0;
}

static void write_enum(struct writer *writer, PyObject *value, PyObject *name, PyObject *member)
{
    put_string(writer, "<");
    put_type(writer, Py_TYPE(value));
    put_string(writer, ".");
    put_name(writer, name);
    put_string(writer, ": ");
    write_value(writer, member);
    put_string(writer, ">");
}

/* "." and "" lead nowhere. */
static int is_empty_part(PyObject *part)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(part);

    return length == 0 || (length == 1 && PyUnicode_READ_CHAR(part, 0) == '.');
}

/* Returns whether a "/" belongs behind it. */
static int write_part(struct writer *writer, PyObject *part)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(part);

    for (Py_ssize_t i = 0; i < shown(length, PYUSDT_TEXT_CHARACTERS); i++)
        put_quoted(writer, PyUnicode_READ_CHAR(part, i), 0x110000);
    if (length > PYUSDT_TEXT_CHARACTERS)
        put_string(writer, CUT);
    return PyUnicode_READ_CHAR(part, length - 1) != '/';
}

/* The first of the parts that count: the last that begins at the root. -1: one is no text, or they
 * are busy. */
static Py_ssize_t find_first_part(PyObject *parts)
{
    Py_ssize_t first = 0;

    if (!pyusdt_lock(parts))
        return -1;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parts); i++) {
        PyObject *part = PyList_GET_ITEM(parts, i);

        if (!PyUnicode_CheckExact(part) || !PyUnicode_IS_READY(part))
            return -1;
        if (PyUnicode_GET_LENGTH(part) > 0 && PyUnicode_READ_CHAR(part, 0) == '/')
            first = i;
    }
    return first;
}

static int write_parts(struct writer *writer, PyObject *parts)
{
    Py_ssize_t first = find_first_part(parts);
    int is_started = 0, with_slash = 0;

    for (Py_ssize_t i = first; first >= 0 && i < PyList_GET_SIZE(parts); i++) {
        PyObject *part = PyList_GET_ITEM(parts, i);

        if (is_empty_part(part))
            continue;
        put_string(writer, with_slash ? "/" : "");
        with_slash = write_part(writer, part);
        is_started = 1;
    }
    put_string(writer, is_started ? "" : ".");
    return first >= 0;
}

static int write_path(struct writer *writer, PyObject *value, PyObject *parts)
{
    uint32_t before = writer->size;
    int is_whole = 1;

    put_type(writer, Py_TYPE(value));
    put_string(writer, "(");
    if (PyUnicode_Check(parts)) {
        write_str(writer, parts);
    } else {
        put_string(writer, "'");
        is_whole = write_parts(writer, parts);
        put_string(writer, "'");
    }
    put_string(writer, ")");
    if (!is_whole && !writer->is_full)
        writer->size = before;
    return is_whole || writer->is_full;
}

/* Of a class of the standard library in Python that has no values in it. */
static int write_known_scalar(struct writer *writer, PyObject *value)
{
    char text[PYUSDT_KNOWN_TEXT];
    size_t size = pyusdt_write_uuid(value, text, sizeof text);
    PyObject *parts;

    put(writer, text, size);
    return size != 0 || (pyusdt_read_path(value, &parts) && write_path(writer, value, parts));
}

static int write_known_object(struct writer *writer, PyObject *value)
{
    PyObject *name, *member;

    if (PyType_Check(value) || !(Py_TYPE(value)->tp_flags & Py_TPFLAGS_HEAPTYPE))
        return 0;
    if (!pyusdt_read_enum(value, &name, &member))
        return write_known_scalar(writer, value);
    write_enum(writer, value, name, member);
    return 1;
}

static void write_exception(struct writer *writer, PyObject *value, struct list *list)
{
    PyObject *args = ((PyBaseExceptionObject *)value)->args;

    if (args == NULL || !PyTuple_Check(args))
        return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args) && begin_item(list); i++)
        write_value(writer, PyTuple_GET_ITEM(args, i));
}

static void write_base(struct writer *writer, PyObject *value, struct list *list)
{
    put_type(writer, Py_TYPE(value));
    put_string(writer, "(");
    if (PyExceptionInstance_Check(value))
        write_exception(writer, value, list);
}

static int names_itself(PyObject *value)
{
    return PyType_Check(value) || PyFunction_Check(value) || PyModule_Check(value) ||
           PyCFunction_Check(value) || PyMethod_Check(value);
}

/* Of a function; NULL: it has none. */
static PyObject *function_name(PyObject *function)
{
#ifdef Py_GIL_DISABLED /* its own may be freed, its code object only when all threads stand */
    PyObject *code = __atomic_load_n(&((PyFunctionObject *)function)->func_code, __ATOMIC_ACQUIRE);
    PyObject *name = PyCode_Check(code) ? ((PyCodeObject *)code)->co_qualname : NULL;
#else
    PyObject *name = ((PyFunctionObject *)function)->func_qualname;
#endif

    return name != NULL && PyUnicode_Check(name) ? name : NULL;
}

static void write_named_thing(struct writer *writer, PyObject *value)
{
    put_string(writer, "<");
    if (PyType_Check(value))
        put_string(writer, "class");
    else
        put_type(writer, Py_TYPE(value));
    put_string(writer, " ");
    if (PyType_Check(value))
        put_type(writer, (PyTypeObject *)value);
    else if (PyFunction_Check(value) && function_name(value) != NULL)
        put_name(writer, function_name(value));
    else if (PyCFunction_Check(value))
        put_string(writer, ((PyCFunctionObject *)value)->m_ml->ml_name);
    else
        put_string(writer, "object");
    put_string(writer, ">");
}

static void write_object(struct writer *writer, PyObject *value)
{
    struct list list = {.writer = writer};
    uint32_t before = writer->size;

    if (names_itself(value)) {
        write_named_thing(writer, value);
        return;
    }
    write_base(writer, value, &list);
    if (!pyusdt_visit_attributes(value, write_attribute, &list) && begin_item(&list))
        put_string(writer, BUSY);
    put_string(writer, ")");
    if (list.n != 0 || writer->is_full || PyExceptionInstance_Check(value))
        return;
    writer->size = before;
    put_string(writer, "<");
    put_whole_type(writer, Py_TYPE(value));
    put_string(writer, " object>");
}

/* ---- any value ---- */

/* 0: it has no values in it. */
static int write_container(struct writer *writer, PyObject *value)
{
    if (PyDict_Check(value))
        write_dict(writer, value);
    else if (PyList_Check(value))
        write_list(writer, value);
    else if (PyTuple_Check(value))
        write_tuple(writer, value);
    else if (PyAnySet_Check(value))
        write_set(writer, value);
    else
        return 0;
    return 1;
}

static int write_scalar(struct writer *writer, PyObject *value)
{
    if (value == Py_None || value == Py_True || value == Py_False)
        put_string(writer, value == Py_None ? "None" : value == Py_True ? "True" : "False");
    else if (PyLong_Check(value))
        write_int(writer, value);
    else if (PyFloat_Check(value))
        write_float(writer, value);
    else if (PyUnicode_Check(value) && PyUnicode_IS_READY(value))
        write_str(writer, value);
    else if (PyBytes_Check(value))
        write_bytes(writer, value);
    else
        return write_known(writer, value);
    return 1;
}

/* A subclass of a builtin type is Name(value). */
static int write_builtin(struct writer *writer, PyObject *value)
{
    uint32_t before = writer->size;
    int is_own = !pyusdt_is_of_python(Py_TYPE(value)), found;

    if (is_own) {
        put_type(writer, Py_TYPE(value));
        put_string(writer, "(");
    }
    found = write_scalar(writer, value) || write_container(writer, value);
    if (!found)
        writer->size = before;
    else if (is_own)
        put_string(writer, ")");
    return found;
}

static void write_deepest(struct writer *writer, PyObject *value)
{
    if (pyusdt_is_of_python(Py_TYPE(value)) && write_scalar(writer, value))
        return;
    if (write_known_scalar(writer, value))
        return;
    put_type(writer, Py_TYPE(value));
    put_string(writer, "(" CUT ")");
}

static void write_value(struct writer *writer, PyObject *value)
{
    unsigned locked = pyusdt_locked();

    if (writer->is_full)
        return;
    if (writer->depth == PYUSDT_TEXT_DEPTH) {
        write_deepest(writer, value);
        return;
    }
    writer->depth++;
    if (!write_known_object(writer, value) && !write_builtin(writer, value))
        write_object(writer, value);
    writer->depth--;
    writer->is_busy |= pyusdt_take_busy();
    pyusdt_unlock_to(locked);
}

static struct writer begin(int with_secrets, char *text, uint32_t room)
{
    return (struct writer){.text = text,
                           .room = room - (uint32_t)strlen(CUT),
                           .with_secrets = with_secrets,
                           .has_veto = pyusdt_has_forbidden()};
}

static uint32_t end(struct writer *writer)
{
    if (writer->is_full) {
        memcpy(writer->text + writer->size, CUT, strlen(CUT));
        writer->size += (uint32_t)strlen(CUT);
    }
    return writer->size;
}

uint32_t pyusdt_write_value(PyObject *value, int with_secrets, char *text, uint32_t room,
                            int *is_busy)
{
    struct writer writer = begin(with_secrets, text, room);

    write_value(&writer, value);
    *is_busy = writer.is_busy;
    return end(&writer);
}

uint32_t pyusdt_write_named(PyObject *name, PyObject *value, char *text, uint32_t room,
                            int *is_busy)
{
    struct writer writer = begin(0, text, room);

    write_named(&writer, name, value);
    *is_busy = writer.is_busy;
    return end(&writer);
}

uint32_t pyusdt_write_text(PyObject *value, char *text, uint32_t room)
{
    struct writer writer = begin(1, text, room);
    Py_ssize_t length = PyUnicode_IS_READY(value) ? PyUnicode_GET_LENGTH(value) : 0;

    for (Py_ssize_t i = 0; i < length && !writer.is_full; i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(value, i);
        int is_shown = c >= 0x20 ? c < 0x7f || (c >= 0xa0 && (c < 0xd800 || c >= 0xe000))
                                 : c == '\n' || c == '\t';

        put_utf8(&writer, is_shown ? c : '?');
    }
    return end(&writer);
}

uint32_t pyusdt_write_locals(int with_secrets, char *text, uint32_t room, int *is_busy)
{
    struct writer writer = begin(with_secrets, text, room);
    struct list list = {.writer = &writer};

    pyusdt_visit_locals(write_attribute, &list);
    *is_busy = writer.is_busy | pyusdt_take_busy();
    return end(&writer);
}

#else
typedef int pyusdt_no_value_text; /* a file has to have something in it */
#endif
