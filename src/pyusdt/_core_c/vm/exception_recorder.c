/* See exception_recorder.h. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "_core_c/vm/exception_recorder.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "_core_c/vm/frame_reads.h"
#include "_core_c/vm/python_provider.h"
#include "_core_c/vm/running_task.h"
#include "_core_c/vm/secret_names.h"
#include "_core_c/vm/value_text.h"
#include "pyusdt.h"
#include "shared/os.h"
#include "target/exceptions_file.h"

#if PYUSDT_READS_OBJECTS

enum {
    KEPT_BURST = 64,
    KEPT_RATE = 20,
    FRAMES = 64,
    VARIABLES = 32,    /* of a frame */
    VALUE_BYTES = 512, /* of a variable */
    TEXT_BYTES = 2048, /* of an exception */
    NAME_BYTES = 256,  /* of a function, a file, a thread … */
    CAUSES = 4,
    LEAST_ROOM = 32,   /* for a text */
    HASHED_BYTES = 64, /* of a name, at its end */
};
#define SECOND 1000000000ull

static PyObject *tag_variable, *module_key;
static struct pyusdt_exceptions *file; /* NULL: there is none, or a forked child has its parent's */
static int has_begun;
static char is_busy; /* a thread is in here, which without the GIL is not the only one */

/* What this process knows of its slots. */
static struct {
    uint64_t key, last, written;
} slots[PYUSDT_EXCEPTIONS];

/* ---- an exception's text in a slot ---- */

struct record {
    uint32_t size, more_frames;
    int is_cut;
    unsigned frame, variables; /* those of this frame */
    uint8_t bytes[sizeof((struct pyusdt_exception_slot *)0)->bytes];
};

static struct record record;

/* Where the next item's text goes; NULL: there is no room. */
static char *begin_item(uint32_t *room)
{
    const uint32_t head = sizeof(struct pyusdt_exception_item);
    uint32_t left = (uint32_t)sizeof record.bytes - record.size;

    if (left < head + LEAST_ROOM) {
        record.is_cut = 1;
        return NULL;
    }
    *room = *room < left - head ? *room : left - head;
    return (char *)record.bytes + record.size + head;
}

static void end_item(int kind, unsigned frame, uint32_t size)
{
    struct pyusdt_exception_item item = {(uint8_t)kind, (uint8_t)frame, (uint16_t)size};

    memcpy(record.bytes + record.size, &item, sizeof item);
    record.size += (uint32_t)sizeof item + size;
}

static void add_bytes(int kind, const char *bytes, size_t size)
{
    uint32_t room = NAME_BYTES;
    char *text = begin_item(&room);

    if (text == NULL)
        return;
    size = size < room ? size : room;
    memcpy(text, bytes, size);
    end_item(kind, 0, (uint32_t)size);
}

static void add_text(int kind, unsigned frame, PyObject *value, uint32_t room)
{
    char *text = value != NULL && PyUnicode_Check(value) ? begin_item(&room) : NULL;

    if (text != NULL)
        end_item(kind, frame, pyusdt_write_text(value, text, room));
}

/* ---- what it is ---- */

static const char exception_name[] = "exception"; /* by which a program can redact texts */

static int is_text_forbidden(void)
{
    return pyusdt_is_forbidden(exception_name, strlen(exception_name));
}

/* The module of a class of Python, unless a traceback does not show it. */
static PyObject *read_module(PyTypeObject *type)
{
    PyObject *module = type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_dict != NULL
                           ? pyusdt_read_key(type->tp_dict, module_key)
                           : NULL;

    return module != NULL && PyUnicode_CheckExact(module) &&
                   PyUnicode_CompareWithASCIIString(module, "__main__") != 0 &&
                   PyUnicode_CompareWithASCIIString(module, "builtins") != 0
               ? module
               : NULL;
}

static uint32_t write_type(PyObject *exception, char *text, uint32_t room)
{
    PyTypeObject *type = Py_TYPE(exception);
    PyObject *module = read_module(type);
    uint32_t size = module != NULL ? pyusdt_write_text(module, text, room / 2) : 0;

    if (size != 0)
        text[size++] = '.';
    return size + (uint32_t)pyusdt_read_type_name(type, text + size, room - size);
}

static void add_type(PyObject *exception)
{
    uint32_t room = NAME_BYTES;
    char *text = begin_item(&room);

    if (text != NULL)
        end_item(PYUSDT_EXCEPTION_TYPE, 0, write_type(exception, text, room));
}

static void add_exception_text(PyObject *exception)
{
    PyObject *text = NULL;

    if (is_text_forbidden()) {
        add_bytes(PYUSDT_EXCEPTION_TEXT, "<redacted>", strlen("<redacted>"));
        return;
    }
    text = pyusdt_vm_exception_text(exception);
    add_text(PYUSDT_EXCEPTION_TEXT, 0, text, TEXT_BYTES);
    Py_XDECREF(text);
}

#ifndef Py_GIL_DISABLED /* without it, other threads may change them, without a lock */

/* `Type: text` */
static void add_cause(PyObject *exception, enum pyusdt_exception_cause how)
{
    PyObject *text = is_text_forbidden() ? NULL : pyusdt_vm_exception_text(exception);
    uint32_t room = TEXT_BYTES / CAUSES, size;
    char *to = begin_item(&room);

    if (to != NULL) {
        size = write_type(exception, to, room);
        if (text != NULL && PyUnicode_GET_LENGTH(text) != 0 && room - size > LEAST_ROOM) {
            memcpy(to + size, ": ", 2);
            size += 2 + pyusdt_write_text(text, to + size + 2, room - size - 2);
        }
        end_item(PYUSDT_EXCEPTION_CAUSE, how, size);
    }
    Py_XDECREF(text);
}

/* As a traceback would show them. */
static void add_causes(PyObject *exception)
{
    for (int i = 0; i < CAUSES; i++) {
        const PyBaseExceptionObject *at = (PyBaseExceptionObject *)exception;

        exception = at->cause != NULL ? at->cause : at->suppress_context ? NULL : at->context;
        if (exception == NULL || !PyExceptionInstance_Check(exception))
            return;
        add_cause(exception, at->cause != NULL ? PYUSDT_EXCEPTION_FROM : PYUSDT_EXCEPTION_HANDLING);
    }
}

#else

static void add_causes(PyObject *exception)
{
    (void)exception;
}

#endif

static void add_tag(void)
{
    PyObject *tag = NULL;

    if (PyContextVar_Get(tag_variable, NULL, &tag) < 0)
        PyErr_Clear();
    if (tag != NULL && PyBytes_Check(tag))
        add_bytes(PYUSDT_EXCEPTION_TAG, PyBytes_AS_STRING(tag), (size_t)PyBytes_GET_SIZE(tag));
    Py_XDECREF(tag);
}

static void add_runner(void)
{
    PyObject *task = pyusdt_running_task_name();

    add_text(PYUSDT_EXCEPTION_THREAD, 0, pyusdt_running_thread_name(), NAME_BYTES);
    pyusdt_unlock_to(0);
    add_text(PYUSDT_EXCEPTION_TASK, 0, task, NAME_BYTES);
    Py_XDECREF(task);
    add_tag();
}

/* ---- its frames ---- */

struct place {
    struct pyusdt_frame *frame; /* NULL: the interpreter has none, as for a function of Cython */
    PyCodeObject *code;
    int offset;
};

static int is_of_importlib(const PyCodeObject *code)
{
    static const char prefix[] = "<frozen importlib";
    PyObject *name = code->co_filename;

    return PyUnicode_IS_COMPACT_ASCII(name) &&
           (size_t)PyUnicode_GET_LENGTH(name) >= strlen(prefix) &&
           memcmp(PyUnicode_DATA(name), prefix, strlen(prefix)) == 0;
}

static PyObject *function_name(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030b0000
    return code->co_qualname;
#else
    return code->co_name;
#endif
}

/* The first is the one that raises. Those of importlib are left out, as in a traceback. */
static unsigned find_places(PyCodeObject *code, int offset, struct place *places, unsigned most)
{
    struct pyusdt_frame *frame = pyusdt_innermost_frame();
    unsigned n = 0;

    if (frame == NULL || pyusdt_frame_code(frame) != code)
        places[n++] = (struct place){NULL, code, offset};
    for (; frame != NULL && n < most; frame = pyusdt_calling_frame(frame)) {
        code = pyusdt_frame_code(frame);
        if (code != NULL && !is_of_importlib(code)) {
            places[n] = (struct place){frame, code, n == 0 ? offset : pyusdt_frame_offset(frame)};
            n++;
        }
    }
    return n;
}

static void count_other_frames(struct pyusdt_frame *frame)
{
    enum { MOST = 100000 };

    while (frame != NULL && record.more_frames < MOST &&
           (frame = pyusdt_calling_frame(frame)) != NULL)
        record.more_frames++;
}

static void add_place(unsigned number, const struct place *place)
{
    uint32_t room = NAME_BYTES, size = sizeof(int32_t);
    char *text = begin_item(&room);
    int32_t line = PyCode_Addr2Line(place->code, place->offset);

    if (text == NULL)
        return;
    memcpy(text, &line, sizeof line);
    size += pyusdt_write_text(function_name(place->code), text + size, room - size);
    end_item(PYUSDT_EXCEPTION_FUNCTION, number, size);
    add_text(PYUSDT_EXCEPTION_FILE, number, place->code->co_filename, NAME_BYTES);
}

static int is_of_the_language(PyObject *name, PyObject *value)
{
    return PyType_Check(value) || PyModule_Check(value) || PyFunction_Check(value) ||
           PyCFunction_Check(value) ||
           (PyUnicode_GET_LENGTH(name) > 1 && PyUnicode_READ_CHAR(name, 0) == '_' &&
            PyUnicode_READ_CHAR(name, 1) == '_');
}

/* 0: there is no room, or there are too many. */
static int add_variable(void *unused, PyObject *name, PyObject *value)
{
    uint32_t room = VALUE_BYTES, before = record.size;
    int was_busy;
    char *text;

    (void)unused;
    if (!PyUnicode_Check(name) || !PyUnicode_IS_READY(name))
        return 1;
    if (record.variables++ == VARIABLES) {
        record.is_cut = 1;
        return 0;
    }
    add_text(PYUSDT_EXCEPTION_NAME, record.frame, name, NAME_BYTES);
    text = begin_item(&room);
    if (text == NULL) {
        record.size = before;
        return 0;
    }
    end_item(PYUSDT_EXCEPTION_VALUE, record.frame,
             pyusdt_write_named(name, value, text, room, &was_busy));
    return 1;
}

/* Of a module or the body of a class: its data. */
static int add_data(void *unused, PyObject *name, PyObject *value)
{
    if (!PyUnicode_Check(name) || !PyUnicode_IS_READY(name) || is_of_the_language(name, value))
        return 1;
    return add_variable(unused, name, value);
}

static void add_frames(PyCodeObject *code, int offset)
{
    struct place places[FRAMES];
    unsigned n = find_places(code, offset, places, FRAMES);

    for (unsigned i = 0; i < n; i++)
        add_place(i, &places[i]);
    if (n == FRAMES)
        count_other_frames(places[n - 1].frame);
    for (unsigned i = 0; i < n && !record.is_cut; i++) {
        record.frame = i;
        record.variables = 0;
        if (places[i].frame != NULL)
            pyusdt_visit_variables(
                places[i].frame, places[i].code->co_flags & CO_OPTIMIZED ? add_variable : add_data,
                NULL);
        pyusdt_unlock_to(0);
    }
}

/* The record is complete before the slot is touched, so a process that is killed loses only what it
 * writes in this microsecond. */
static void write_slot(unsigned number, uint64_t now, int is_new)
{
    struct pyusdt_exception_slot *slot =
        (struct pyusdt_exception_slot *)((char *)file + PYUSDT_EXCEPTIONS_HEAD) + number;
    uint32_t changes = atomic_load_explicit(&slot->changes, memory_order_relaxed);

    atomic_store_explicit(&slot->changes, changes + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (is_new) {
        atomic_fetch_add(&file->replaced, atomic_load(&slot->count));
        atomic_store(&slot->count, 1);
        atomic_store(&slot->first, now);
    }
    atomic_store(&slot->last, now);
    slot->written = now;
    slot->tid = pyusdt_os_tid();
    slot->more_frames = record.more_frames;
    slot->is_cut = (uint32_t)record.is_cut;
    slot->size = record.size;
    memcpy(slot->bytes, record.bytes, record.size);
    atomic_store_explicit(&slot->changes, changes + 2, memory_order_release);
}

static void write_record(unsigned number, uint64_t now, int is_new, PyObject *exception,
                         PyCodeObject *code, int offset)
{
    record.size = record.more_frames = 0;
    record.is_cut = 0;
    add_type(exception);
    add_exception_text(exception);
    add_causes(exception);
    add_runner();
    add_frames(code, offset);
    write_slot(number, now, is_new);
}

/* ---- which one it is ---- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t word = 0;

    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, at, size);
    hash = (hash ^ word ^ (uint64_t)size << 56) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, PyObject *text)
{
    size_t size = (size_t)PyUnicode_GET_LENGTH(text) * PyUnicode_KIND(text);
    size_t from = size > HASHED_BYTES ? size - HASHED_BYTES : 0;

    return mix(hash, (const char *)PyUnicode_DATA(text) + from, size - from);
}

static uint64_t mix_place(uint64_t hash, const struct place *place)
{
    int numbers[] = {place->offset, place->code->co_firstlineno};

    hash = mix(hash, numbers, sizeof numbers);
    return mix_text(mix_text(hash, place->code->co_filename), function_name(place->code));
}

/* Of what it says, not of addresses: those of classes and code come again. Never 0. */
static uint64_t make_key(PyObject *exception, PyCodeObject *code, int offset)
{
    char name[HASHED_BYTES];
    struct place places[2];
    unsigned n = find_places(code, offset, places, 2);
    uint64_t hash = mix(1, name, pyusdt_read_type_name(Py_TYPE(exception), name, sizeof name));

    for (unsigned i = 0; i < n; i++)
        hash = mix_place(hash, &places[i]);
    return hash | 1;
}

/* The slot with the key, else the one to use: *is_new. */
static unsigned find_slot(uint64_t key, int *is_new)
{
    unsigned oldest = 0;

    for (unsigned i = 0; i < PYUSDT_EXCEPTIONS; i++) {
        if (slots[i].key == key) {
            *is_new = 0;
            return i;
        }
        if (slots[i].last < slots[oldest].last)
            oldest = i;
    }
    *is_new = 1;
    return oldest;
}

/* Whether one more may be read now. */
static int take_credit(void)
{
    static uint64_t before;
    static uint64_t credit = KEPT_BURST * (SECOND / KEPT_RATE);
    const uint64_t most = KEPT_BURST * (SECOND / KEPT_RATE), each = SECOND / KEPT_RATE;
    uint64_t now = pyusdt_now();

    if (before != 0)
        credit = now - before < most - credit ? credit + (now - before) : most;
    before = now;
    if (credit < each)
        return 0;
    credit -= each;
    return 1;
}

static void keep_again(unsigned number, uint64_t now)
{
    struct pyusdt_exception_slot *slot =
        (struct pyusdt_exception_slot *)((char *)file + PYUSDT_EXCEPTIONS_HEAD) + number;

    slots[number].last = now;
    atomic_store_explicit(&slot->last, now, memory_order_relaxed);
    atomic_fetch_add_explicit(&slot->count, 1, memory_order_relaxed);
}

static void count(_Atomic uint64_t *number)
{
    atomic_fetch_add_explicit(number, 1, memory_order_relaxed);
}

static void keep(PyObject *exception, PyCodeObject *code, int offset)
{
    uint64_t now = pyusdt_wall_time(), key = make_key(exception, code, offset);
    int is_new;
    unsigned number = find_slot(key, &is_new);

    count(&file->raised);
    if (!is_new)
        keep_again(number, now);
    if (!is_new && now - slots[number].written < SECOND)
        return;
    if (!take_credit()) {
        if (is_new)
            count(&file->left_out);
        return;
    }
    slots[number].key = key;
    slots[number].last = slots[number].written = now;
    write_record(number, now, is_new, exception, code, offset);
}

/* ---- a process's file ---- */

/* The child's first exception makes its file: most children become other programs. */
static void after_fork_in_child(void)
{
    file = NULL;
    __atomic_clear(&is_busy, __ATOMIC_RELAXED);
}

static int make_file(void)
{
    file = pyusdt_exceptions_make(PY_VERSION_HEX);
    if (file == NULL)
        return -errno;
    memset(slots, 0, sizeof slots);
    return 0;
}

static int has_file(void)
{
    static uint64_t again_after;

    if (file == NULL && pyusdt_now() >= again_after && make_file() < 0)
        again_after = pyusdt_now() + SECOND;
    return file != NULL;
}

int pyusdt_exceptions_start(PyObject *variable)
{
    int r = 0;

    if (!has_begun) {
        Py_XSETREF(tag_variable, Py_NewRef(variable));
        if (module_key == NULL)
            module_key = PyUnicode_InternFromString("__module__");
        r = module_key == NULL || pyusdt_running_start() < 0 ? -1 : make_file();
        if (r == 0)
            r = -pthread_atfork(NULL, NULL, after_fork_in_child);
        has_begun = r == 0;
    }
    if (r < 0 && !PyErr_Occurred()) {
        errno = -r;
        PyErr_SetFromErrno(PyExc_OSError);
    }
    return r < 0 ? -1 : 0;
}

int pyusdt_exceptions_are_kept(void)
{
    return has_begun;
}

void pyusdt_exceptions_keep(PyObject *exception, PyCodeObject *code, int offset)
{
    if (is_of_importlib(code) || !PyExceptionInstance_Check(exception))
        return;
    if (__atomic_test_and_set(&is_busy, __ATOMIC_ACQUIRE)) {
        if (file != NULL) {
            count(&file->raised);
            count(&file->left_out);
        }
        return;
    }
    if (has_file())
        keep(exception, code, offset);
    pyusdt_unlock_to(0);
    (void)pyusdt_take_busy();
    __atomic_clear(&is_busy, __ATOMIC_RELEASE);
}

#else

int pyusdt_exceptions_start(PyObject *variable)
{
    (void)variable;
    PyErr_SetString(PyExc_RuntimeError, "values of this version of CPython cannot be read");
    return -1;
}

int pyusdt_exceptions_are_kept(void)
{
    return 0;
}

void pyusdt_exceptions_keep(PyObject *exception, PyCodeObject *code, int offset)
{
    (void)exception;
    (void)code;
    (void)offset;
}

#endif
