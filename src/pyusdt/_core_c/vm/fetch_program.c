/* See fetch_program.h. */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/fetch_program.h"

#include "_core_c/vm/frame_reads.h"
#include "_core_c/vm/secret_names.h"
#include "_core_c/vm/value_text.h"

#include <stdlib.h>
#include <string.h>

#define FORBIDDEN \
    "some values are absent: this program has redacted their names (PYUSDT_REDACT, pyusdt.redact())"

struct step {
    enum pyusdt_fetch_op op;
    PyObject *name; /* interned, or NULL */
    int64_t number;
};

struct pyusdt_fetch_program {
    enum pyusdt_fetch_root root;
    enum pyusdt_fetch_result result;
    uint32_t most;
    uint32_t nsteps;
    PyObject *name; /* of the root */
    struct step steps[PYUSDT_FETCH_STEPS];
};

int pyusdt_fetch_is_supported(void)
{
    return PYUSDT_READS_OBJECTS;
}

uint32_t pyusdt_fetch_text_size(const struct pyusdt_fetch_program *program)
{
    switch (program->result) {
    case PYUSDT_FETCH_STRING:
    case PYUSDT_FETCH_TYPENAME:
    case PYUSDT_FETCH_REPR:
    case PYUSDT_FETCH_REPR_WITH_SECRETS:
        return program->most;
    default:
        return 0;
    }
}

int pyusdt_fetch_is_of_exception(const struct pyusdt_fetch_program *program)
{
    return program->root == PYUSDT_FETCH_EXCEPTION;
}

PyObject *pyusdt_fetch_variable(const struct pyusdt_fetch_program *program)
{
    return program->root == PYUSDT_FETCH_LOCAL ? program->name : NULL;
}

/* ---- loading ---- */

struct names {
    const char *bytes;
    size_t size;
};

/* A new reference to the interned text; NULL, with no exception, if it is none. */
static PyObject *load_name(const struct names *names, uint16_t at, uint16_t length, int *forbidden)
{
    PyObject *name;

    if (length == 0 || length > PYUSDT_FETCH_NAME || at > names->size ||
        length > names->size - at || memchr(names->bytes + at, '\0', length) != NULL)
        return NULL;
    if (pyusdt_is_forbidden(names->bytes + at, length)) {
        *forbidden = 1;
        return NULL;
    }
    name = PyUnicode_DecodeUTF8(names->bytes + at, length, "strict");
    if (name == NULL) {
        PyErr_Clear();
        return NULL;
    }
    PyUnicode_InternInPlace(&name);
    if (PyObject_Hash(name) == -1) /* a str's own; kept in it from here on */
        PyErr_Clear();
    return name;
}

static const char *load_steps(struct pyusdt_fetch_program *program,
                              const struct pyusdt_fetch_step *steps, const struct names *names)
{
    int forbidden = 0;

    for (uint32_t i = 0; i < program->nsteps; i++) {
        struct pyusdt_fetch_step step;

        memcpy(&step, &steps[i], sizeof step);
        program->steps[i] = (struct step){(enum pyusdt_fetch_op)step.op, NULL, step.number};
        switch (step.op) {
        case PYUSDT_FETCH_ATTRIBUTE:
        case PYUSDT_FETCH_KEY:
            program->steps[i].name = load_name(names, step.name, step.name_length, &forbidden);
            if (program->steps[i].name == NULL)
                return forbidden ? FORBIDDEN : "a step without a name";
            break;
        case PYUSDT_FETCH_INDEX:
            break;
        default:
            return "an unknown step";
        }
    }
    return NULL;
}

static int is_repr(enum pyusdt_fetch_result result)
{
    return result == PYUSDT_FETCH_REPR || result == PYUSDT_FETCH_REPR_WITH_SECRETS;
}

/* NULL: they go together. */
static const char *check_kinds(const struct pyusdt_fetch_program *program)
{
    if (program->root < PYUSDT_FETCH_LOCAL || program->root > PYUSDT_FETCH_EXCEPTION ||
        program->root == PYUSDT_FETCH_NO_ROOT)
        return "an unknown root";
    if (program->result < PYUSDT_FETCH_INT || program->result > PYUSDT_FETCH_REPR_WITH_SECRETS)
        return "an unknown result";
    if (program->root == PYUSDT_FETCH_LOCALS && (program->nsteps != 0 || !is_repr(program->result)))
        return "all variables are only a text";
    if (program->most > PYUSDT_FETCH_TEXT ||
        (is_repr(program->result) && program->most < PYUSDT_FETCH_REPR_LEAST))
        return "a text of more bytes than are allowed, or of too few";
    return NULL;
}

static const char *load(struct pyusdt_fetch_program *program, const struct pyusdt_fetch_head *head,
                        const char *bytes)
{
    size_t steps = sizeof *head + head->steps * sizeof(struct pyusdt_fetch_step);
    const char *wrong;
    struct names names;
    int forbidden = 0;

    if (head->steps > PYUSDT_FETCH_STEPS || steps > head->size)
        return "more steps than there are";
    names = (struct names){bytes + steps, head->size - steps};
    program->root = (enum pyusdt_fetch_root)head->root;
    program->result = (enum pyusdt_fetch_result)head->result;
    program->nsteps = head->steps;
    program->most = head->most == 0 ? PYUSDT_FETCH_TEXT : head->most;
    wrong = check_kinds(program);
    if (wrong != NULL)
        return wrong;
    if (head->root == PYUSDT_FETCH_LOCAL || head->root == PYUSDT_FETCH_GLOBAL) {
        program->name = load_name(&names, head->name, head->name_length, &forbidden);
        if (program->name == NULL)
            return forbidden ? FORBIDDEN : "a root without a name";
    }
    return load_steps(program, (const struct pyusdt_fetch_step *)(bytes + sizeof *head), &names);
}

struct pyusdt_fetch_program *pyusdt_fetch_load(const void *bytes, size_t size, const char **wrong)
{
    struct pyusdt_fetch_program *program;
    struct pyusdt_fetch_head head;

    *wrong = NULL;
    if (!PYUSDT_READS_OBJECTS) {
        *wrong = "values of this CPython cannot be read";
        return NULL;
    }
    if (size < sizeof head || (memcpy(&head, bytes, sizeof head), head.size != size) ||
        head.version != PYUSDT_FETCH_VERSION) {
        *wrong = "another size or version";
        return NULL;
    }
    program = calloc(1, sizeof *program);
    if (program == NULL)
        return NULL;
    *wrong = load(program, &head, bytes);
    if (*wrong == NULL)
        return program;
    pyusdt_fetch_free(program);
    return NULL;
}

void pyusdt_fetch_free(struct pyusdt_fetch_program *program)
{
    if (program == NULL)
        return;
    Py_XDECREF(program->name);
    for (uint32_t i = 0; i < PYUSDT_FETCH_STEPS; i++)
        Py_XDECREF(program->steps[i].name);
    free(program);
}

#if PYUSDT_READS_OBJECTS

/* ---- steps ---- */

static PyObject *take_step(PyObject *object, const struct step *step)
{
    switch (step->op) {
    case PYUSDT_FETCH_ATTRIBUTE:
        return pyusdt_read_attribute(object, step->name);
    case PYUSDT_FETCH_INDEX:
        return pyusdt_read_index(object, step->number);
    case PYUSDT_FETCH_KEY:
        return pyusdt_read_key(object, step->name);
    }
    return NULL;
}

/* ---- results ---- */

/* As many whole characters as there is room for, in UTF-8; half of a surrogate pair is "?". */
static void put_text(PyObject *value, uint32_t most, char *text, struct pyusdt_fetched *out)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    int kind = PyUnicode_KIND(value);
    const void *data = PyUnicode_DATA(value);
    uint32_t at = 0;

    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 c = PyUnicode_READ(kind, data, i);
        uint32_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

        if (c >= 0xd800 && c < 0xe000) {
            c = '?';
            size = 1;
        }
        if (size > most - at) {
            out->truncated = 1;
            break;
        }
        if (size == 1)
            text[at] = (char)c;
        else {
            for (uint32_t k = size - 1; k > 0; k--, c >>= 6)
                text[at + k] = (char)(0x80 | (c & 0x3f));
            text[at] = (char)((0xf00u >> size & 0xff) | c);
        }
        at += size;
    }
    out->length = at;
    out->present = 1;
}

static void put_bytes(const char *bytes, size_t size, uint32_t most, char *text,
                      struct pyusdt_fetched *out)
{
    out->truncated = size > most;
    out->length = (uint32_t)(size > most ? most : size);
    memcpy(text, bytes, out->length);
    out->present = 1;
}

/* As an integer: without its fraction, or the nearest that there is. NaN is none. */
static void put_float(double real, enum pyusdt_fetch_result result, struct pyusdt_fetched *out)
{
    out->real = real;
    out->present = 1;
    if (result == PYUSDT_FETCH_DOUBLE)
        memcpy(&out->number, &real, sizeof out->number);
    else if (real != real)
        out->present = 0;
    else if (real >= 0x1p63 || real < -0x1p63) {
        out->number = real < 0 ? INT64_MIN : INT64_MAX;
        out->truncated = 1;
    } else
        out->number = (int64_t)real;
}

static void put_number(PyObject *value, enum pyusdt_fetch_result result, struct pyusdt_fetched *out)
{
    if (result == PYUSDT_FETCH_LENGTH) {
        out->number = pyusdt_read_length(value);
        out->present = out->number >= 0;
    } else if (PyLong_Check(value)) {
        out->truncated = !pyusdt_read_int(value, &out->number);
        out->real = (double)out->number;
        if (result == PYUSDT_FETCH_DOUBLE)
            memcpy(&out->number, &out->real, sizeof out->number);
        out->present = 1;
    } else if (PyFloat_Check(value)) {
        put_float(PyFloat_AS_DOUBLE(value), result, out);
    }
}

static void put_type_name(PyTypeObject *type, uint32_t most, char *text, struct pyusdt_fetched *out)
{
    char name[PYUSDT_TYPE_NAME];
    size_t size = pyusdt_read_type_name(type, name, sizeof name);

    if (size != 0)
        put_bytes(name, size, most, text, out);
}

static void put_repr(const struct pyusdt_fetch_program *program, PyObject *value, char *text,
                     struct pyusdt_fetched *out)
{
    int with_secrets = program->result == PYUSDT_FETCH_REPR_WITH_SECRETS, is_busy;

    out->length = program->root == PYUSDT_FETCH_LOCALS
                      ? pyusdt_write_locals(with_secrets, text, program->most, &is_busy)
                      : pyusdt_write_value(value, with_secrets, text, program->most, &is_busy);
    out->present = 1;
    out->busy = is_busy != 0;
}

static void put_result(const struct pyusdt_fetch_program *program, PyObject *value, char *text,
                       struct pyusdt_fetched *out)
{
    switch (program->result) {
    case PYUSDT_FETCH_INT:
    case PYUSDT_FETCH_DOUBLE:
    case PYUSDT_FETCH_LENGTH:
        put_number(value, program->result, out);
        break;
    case PYUSDT_FETCH_STRING:
        if (PyUnicode_Check(value) && PyUnicode_IS_READY(value))
            put_text(value, program->most, text, out);
        else if (PyBytes_Check(value))
            put_bytes(PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value), program->most,
                      text, out);
        break;
    case PYUSDT_FETCH_REPR:
    case PYUSDT_FETCH_REPR_WITH_SECRETS:
        put_repr(program, value, text, out);
        break;
    case PYUSDT_FETCH_PRESENT:
        out->present = 1;
        out->number = 1;
        break;
    case PYUSDT_FETCH_TYPENAME:
        put_type_name(Py_TYPE(value), program->most, text, out);
        break;
    }
}

/* NULL: absent, or busy. */
static PyObject *find_value(const struct pyusdt_fetch_program *program, PyObject *given)
{
    PyObject *value = given;

    if (program->root == PYUSDT_FETCH_LOCAL)
        value = pyusdt_read_local(program->name);
    else if (program->root == PYUSDT_FETCH_GLOBAL)
        value = pyusdt_read_global(program->name);
    for (uint32_t i = 0; value != NULL && i < program->nsteps; i++)
        value = take_step(value, &program->steps[i]);
    return value;
}

void pyusdt_fetch_run(const struct pyusdt_fetch_program *program, PyObject *given, char *text,
                      struct pyusdt_fetched *out)
{
    unsigned locked = pyusdt_locked();
    PyObject *value;

    memset(out, 0, sizeof *out);
    pyusdt_take_busy();
    if (program->root == PYUSDT_FETCH_LOCALS)
        put_repr(program, NULL, text, out);
    else if ((value = find_value(program, given)) != NULL)
        put_result(program, value, text, out);
    out->busy |= pyusdt_take_busy() != 0;
    pyusdt_unlock_to(locked);
}

#else

void pyusdt_fetch_run(const struct pyusdt_fetch_program *program, PyObject *given, char *text,
                      struct pyusdt_fetched *out)
{
    (void)program;
    (void)given;
    (void)text;
    memset(out, 0, sizeof *out);
}

#endif
