/* See known_types.h. */
#define PY_SSIZE_T_CLEAN
#include "_core_c/vm/known_types.h"

#if PYUSDT_READS_OBJECTS

#define _PY_DATETIME_IMPL /* its structures only */
#include <datetime.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "_core_c/vm/secret_names.h"

int pyusdt_is_of_python(PyTypeObject *type)
{
    return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE;
}

static int is_named(PyTypeObject *type, const char *name)
{
    return pyusdt_is_of_python(type) && strcmp(type->tp_name, name) == 0;
}

/* ---- text ---- */

struct text {
    char *bytes;
    size_t size, room;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text->bytes + text->size, text->room - text->size, format, args);
    va_end(args);
    text->size += n < 0                                 ? 0
                  : (size_t)n < text->room - text->size ? (size_t)n
                                                        : text->room - text->size - 1;
}

/* ---- integers ---- */

#if PY_VERSION_HEX >= 0x030c0000
#define DIGITS(value) (((PyLongObject *)(value))->long_value.ob_digit)
#else
#define DIGITS(value) (((PyLongObject *)(value))->ob_digit)
#endif

enum { PARTS = 14, PART = 1000000000 };     /* of nine decimal digits: more than is shown */
enum { PARTS_DIGITS = 9, MOST_BITS = 397 }; /* 397 bits have at most 120 digits */

/* An int's magnitude, in digits of 30 bits; 0: it has more. */
static int read_digits(PyObject *value, uint32_t *digits, int most)
{
    size_t bits = (size_t)_PyLong_NumBits(value);
    int n = (int)((bits + PyLong_SHIFT - 1) / PyLong_SHIFT);

    if (bits > (size_t)most * PyLong_SHIFT)
        return 0;
    for (int i = 0; i < n; i++)
        digits[i] = DIGITS(value)[i];
    return n;
}

static uint32_t divide(uint32_t *digits, int n, uint32_t by)
{
    uint64_t rest = 0;

    for (int i = n; i-- > 0;) {
        rest = rest << PyLong_SHIFT | digits[i];
        digits[i] = (uint32_t)(rest / by);
        rest %= by;
    }
    return (uint32_t)rest;
}

static void put_decimal(struct text *text, uint32_t *digits, int n)
{
    uint32_t part[PARTS];
    int parts = 0;

    while (n > 0 && parts < PARTS) {
        part[parts++] = divide(digits, n, PART);
        while (n > 0 && digits[n - 1] == 0)
            n--;
    }
    put(text, "%u", parts > 0 ? part[parts - 1] : 0);
    for (int i = parts - 1; i-- > 0;)
        put(text, "%0*u", PARTS_DIGITS, part[i]);
}

size_t pyusdt_write_int(PyObject *value, char *bytes, size_t room)
{
    struct text text = {bytes, 0, room};
    uint32_t digits[MOST_BITS / PyLong_SHIFT + 1];
    int64_t number;

    if (pyusdt_read_int(value, &number)) {
        put(&text, "%lld", (long long)number);
    } else if ((size_t)_PyLong_NumBits(value) > MOST_BITS) {
        put(&text, "<int of %llu bits>", (unsigned long long)_PyLong_NumBits(value));
    } else {
        put(&text, "%s", number < 0 ? "-" : "");
        put_decimal(&text, digits, read_digits(value, digits, sizeof digits / sizeof *digits));
    }
    return text.size;
}

/* ---- complex ---- */

static void put_real(struct text *text, double real, int flags)
{
    char *made = PyOS_double_to_string(real, 'r', 0, flags, NULL);

    if (made == NULL)
        PyErr_Clear();
    put(text, "%s", made != NULL ? made : "?");
    PyMem_Free(made);
}

static void put_complex(struct text *text, PyObject *value)
{
    Py_complex number = ((PyComplexObject *)value)->cval;
    int has_real = number.real != 0 || signbit(number.real);

    put(text, "%s", has_real ? "(" : "");
    if (has_real)
        put_real(text, number.real, 0);
    put_real(text, number.imag, has_real ? Py_DTSF_SIGN : 0);
    put(text, "j%s", has_real ? ")" : "");
}

/* ---- dates and times ---- */

static void put_clock(struct text *text, int second, int microsecond)
{
    if (second != 0 || microsecond != 0)
        put(text, ", %d", second);
    if (microsecond != 0)
        put(text, ", %d", microsecond);
}

static PyObject *put_datetime(struct text *text, PyObject *value)
{
    put(text, "datetime.datetime(%d, %d, %d, %d, %d", PyDateTime_GET_YEAR(value),
        PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value), PyDateTime_DATE_GET_HOUR(value),
        PyDateTime_DATE_GET_MINUTE(value));
    put_clock(text, PyDateTime_DATE_GET_SECOND(value), PyDateTime_DATE_GET_MICROSECOND(value));
    return ((PyDateTime_DateTime *)value)->hastzinfo ? ((PyDateTime_DateTime *)value)->tzinfo
                                                     : NULL;
}

static PyObject *put_time(struct text *text, PyObject *value)
{
    put(text, "datetime.time(%d, %d", PyDateTime_TIME_GET_HOUR(value),
        PyDateTime_TIME_GET_MINUTE(value));
    put_clock(text, PyDateTime_TIME_GET_SECOND(value), PyDateTime_TIME_GET_MICROSECOND(value));
    return ((PyDateTime_Time *)value)->hastzinfo ? ((PyDateTime_Time *)value)->tzinfo : NULL;
}

static void put_delta(struct text *text, PyObject *value)
{
    PyDateTime_Delta *delta = (PyDateTime_Delta *)value;
    const char *between = "";

    put(text, "datetime.timedelta(");
    if (delta->days != 0) {
        put(text, "days=%d", delta->days);
        between = ", ";
    }
    if (delta->seconds != 0) {
        put(text, "%sseconds=%d", between, delta->seconds);
        between = ", ";
    }
    if (delta->microseconds != 0) {
        put(text, "%smicroseconds=%d", between, delta->microseconds);
        between = ", ";
    }
    put(text, "%s)", *between == '\0' ? "0" : "");
}

/* Modules/_datetimemodule.c */
struct zone {
    PyObject_HEAD PyObject *offset, *name;
};

/* One of timezone, with an offset only. 0: it is none. */
static int put_zone(struct text *text, PyObject *value)
{
    const struct zone *zone = (const struct zone *)value;
    const PyDateTime_Delta *offset;

    if (!is_named(Py_TYPE(value), "datetime.timezone") ||
        Py_TYPE(value)->tp_basicsize != sizeof *zone || zone->name != NULL ||
        zone->offset == NULL || !is_named(Py_TYPE(zone->offset), "datetime.timedelta"))
        return 0;
    offset = (const PyDateTime_Delta *)zone->offset;
    if (offset->days == 0 && offset->seconds == 0 && offset->microseconds == 0) {
        put(text, "datetime.timezone.utc");
        return 1;
    }
    put(text, "datetime.timezone(");
    put_delta(text, zone->offset);
    put(text, ")");
    return 1;
}

/* 0: it is none. */
static int put_date_or_time(struct text *text, PyObject *value, PyObject **zone)
{
    PyTypeObject *type = Py_TYPE(value);

    if (is_named(type, "datetime.datetime"))
        *zone = put_datetime(text, value);
    else if (is_named(type, "datetime.time"))
        *zone = put_time(text, value);
    else if (is_named(type, "datetime.timedelta")) {
        put_delta(text, value);
        return 1;
    } else if (put_zone(text, value)) {
        return 1;
    } else if (is_named(type, "datetime.date"))
        put(text, "datetime.date(%d, %d, %d", PyDateTime_GET_YEAR(value),
            PyDateTime_GET_MONTH(value), PyDateTime_GET_DAY(value));
    else
        return 0;
    if (*zone == NULL)
        put(text, ")");
    return 1;
}

/* ---- Decimal ---- */

enum { WORDS_MOST = 8, WORD_DIGITS = 19, DECIMAL_WORDS = 4 };
enum { IS_NEGATIVE = 1, IS_INFINITE = 2, IS_NAN = 4, IS_SIGNALLING = 8, SPECIAL = 14 };

/* Modules/_decimal/_decimal.c and libmpdec's mpd_t. */
struct decimal {
    PyObject_HEAD Py_hash_t hash;
    struct {
        uint8_t flags;
        Py_ssize_t exponent, digits, length, room;
        uint64_t *words; /* of 19 digits, the lowest first */
    } number;
    uint64_t words[DECIMAL_WORDS];
};

static int is_decimal(PyObject *value)
{
    const struct decimal *decimal = (const struct decimal *)value;

    return is_named(Py_TYPE(value), "decimal.Decimal") &&
           Py_TYPE(value)->tp_basicsize == sizeof *decimal &&
           decimal->number.length <= decimal->number.room &&
           ((decimal->number.flags & SPECIAL) != 0 ||
            (decimal->number.digits > 0 &&
             decimal->number.length == (decimal->number.digits + WORD_DIGITS - 1) / WORD_DIGITS));
}

static int read_decimal_digits(const struct decimal *decimal, char *digits)
{
    char all[WORDS_MOST * WORD_DIGITS + 1];
    int size = 0, n = (int)decimal->number.digits;

    for (Py_ssize_t i = decimal->number.length; i-- > 0;)
        size += snprintf(all + size, sizeof all - (size_t)size, "%019llu",
                         (unsigned long long)decimal->number.words[i]);
    if (n > size)
        return 0;
    memcpy(digits, all + size - n, (size_t)n + 1);
    return n;
}

/* As the specification of General Decimal Arithmetic has it. */
static void put_scaled(struct text *text, const char *digits, int n, Py_ssize_t exponent)
{
    Py_ssize_t before = exponent <= 0 && exponent + n > -6 ? exponent + n : 1;

    if (before <= 0)
        put(text, "0.%.*s%s", (int)-before, "00000", digits);
    else if (before < n)
        put(text, "%.*s.%s", (int)before, digits, digits + before);
    else
        put(text, "%s", digits);
    if (exponent + n != before)
        put(text, "E%+lld", (long long)(exponent + n - before));
}

static int put_decimal_type(struct text *text, PyObject *value)
{
    const struct decimal *decimal = (const struct decimal *)value;
    char digits[WORDS_MOST * WORD_DIGITS + 1];
    int n;

    if (!is_decimal(value))
        return 0;
    if (decimal->number.digits > PYUSDT_KNOWN_DIGITS) {
        put(text, "<Decimal of %lld digits>", (long long)decimal->number.digits);
        return 1;
    }
    put(text, "Decimal('%s", decimal->number.flags & IS_NEGATIVE ? "-" : "");
    if (decimal->number.flags & IS_INFINITE)
        put(text, "Infinity");
    else if (decimal->number.flags & (IS_NAN | IS_SIGNALLING))
        put(text, decimal->number.flags & IS_SIGNALLING ? "sNaN" : "NaN");
    else if ((n = read_decimal_digits(decimal, digits)) != 0)
        put_scaled(text, digits, n, decimal->number.exponent);
    put(text, "')");
    return 1;
}

/* ---- numpy ---- */

/* PyScalarObject of numpy/arrayscalars.h. */
struct scalar {
    PyObject_HEAD union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint8_t u8;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        float f32;
    } is;
};

static int put_scalar(struct text *text, PyObject *value, const char *name)
{
    const struct scalar *scalar = (const struct scalar *)value;

    if (Py_TYPE(value)->tp_basicsize != sizeof *scalar)
        return 0;
    if (strncmp(name, "bool", 4) == 0)
        put(text, "np.%s", scalar->is.u8 ? "True_" : "False_");
    else if (strcmp(name, "int8") == 0)
        put(text, "np.int8(%d)", scalar->is.i8);
    else if (strcmp(name, "int16") == 0)
        put(text, "np.int16(%d)", scalar->is.i16);
    else if (strcmp(name, "int32") == 0)
        put(text, "np.int32(%d)", scalar->is.i32);
    else if (strcmp(name, "int64") == 0)
        put(text, "np.int64(%lld)", (long long)scalar->is.i64);
    else if (strcmp(name, "uint8") == 0)
        put(text, "np.uint8(%u)", scalar->is.u8);
    else if (strcmp(name, "uint16") == 0)
        put(text, "np.uint16(%u)", scalar->is.u16);
    else if (strcmp(name, "uint32") == 0)
        put(text, "np.uint32(%u)", scalar->is.u32);
    else if (strcmp(name, "uint64") == 0)
        put(text, "np.uint64(%llu)", (unsigned long long)scalar->is.u64);
    else if (strcmp(name, "float32") == 0)
        put(text, "np.float32(%.9g)", (double)scalar->is.f32);
    else
        return 0;
    return 1;
}

#ifndef Py_GIL_DISABLED /* another thread may give it another shape, which has no lock */

enum { DIMENSIONS = 64 };

/* PyArrayObject_fields of numpy/ndarraytypes.h, the same since 1.7. */
struct array {
    PyObject_HEAD char *data;
    int ndimensions;
    Py_ssize_t *dimensions, *strides;
    PyObject *base, *descriptor;
    int flags;
    PyObject *weakrefs;
};

/* PyArray_Descr begins so. */
struct descriptor {
    PyObject_HEAD PyTypeObject *type;
};

static int put_array(struct text *text, PyObject *value)
{
    const struct array *array = (const struct array *)value;
    PyTypeObject *type;

    if (Py_TYPE(value)->tp_basicsize < (Py_ssize_t)sizeof *array || array->ndimensions < 0 ||
        array->ndimensions > DIMENSIONS || array->descriptor == NULL)
        return 0;
    put(text, "<numpy.ndarray of shape (");
    for (int i = 0; i < array->ndimensions; i++)
        put(text, "%s%lld", i > 0 ? ", " : "", (long long)array->dimensions[i]);
    put(text, "%s)", array->ndimensions == 1 ? "," : "");
    type = ((const struct descriptor *)array->descriptor)->type;
    if (strncmp(Py_TYPE(array->descriptor)->tp_name, "numpy.", 6) == 0 && type != NULL &&
        strncmp(type->tp_name, "numpy.", 6) == 0)
        put(text, ", %.40s", type->tp_name + 6);
    put(text, ">");
    return 1;
}

#else

static int put_array(struct text *text, PyObject *value)
{
    (void)text;
    (void)value;
    return 0;
}

#endif

static int put_numpy(struct text *text, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);

    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE || strncmp(type->tp_name, "numpy.", 6) != 0)
        return 0;
    return strcmp(type->tp_name, "numpy.ndarray") == 0 ? put_array(text, value)
                                                       : put_scalar(text, value, type->tp_name + 6);
}

/* ---- classes of Python ---- */

enum { ATTRIBUTES = 3 };

struct wanted {
    const char *name[ATTRIBUTES];
    PyObject *value[ATTRIBUTES];
};

static int note_attribute(void *arg, PyObject *name, PyObject *value)
{
    struct wanted *wanted = arg;

    for (int i = 0; i < ATTRIBUTES && wanted->name[i] != NULL; i++)
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, wanted->name[i]) == 0)
            wanted->value[i] = value;
    return 1;
}

/* 0: they are redacted, or busy. */
static int read_attributes(PyObject *object, struct wanted *wanted)
{
    for (int i = 0; i < ATTRIBUTES && wanted->name[i] != NULL; i++)
        if (pyusdt_is_forbidden(wanted->name[i], strlen(wanted->name[i])))
            return 0;
    return pyusdt_visit_attributes(object, note_attribute, wanted);
}

/* Whether a class is the one of that name in a module of the standard library, or in one below it. */
static int is_class(PyTypeObject *type, const char *name, const char *module)
{
    struct wanted wanted = {.name = {"__module__"}};
    size_t size = strlen(module);
    char text[32];
    Py_ssize_t n;

    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || strcmp(type->tp_name, name) != 0 ||
        type->tp_dict == NULL || !pyusdt_visit_items(type->tp_dict, note_attribute, &wanted) ||
        wanted.value[0] == NULL || !PyUnicode_Check(wanted.value[0]))
        return 0;
    n = PyUnicode_GET_LENGTH(wanted.value[0]);
    for (Py_ssize_t i = 0; i < n && i < (Py_ssize_t)sizeof text; i++)
        text[i] = (char)PyUnicode_READ_CHAR(wanted.value[0], i);
    return n >= (Py_ssize_t)size && n <= (Py_ssize_t)sizeof text &&
           memcmp(text, module, size) == 0 && (n == (Py_ssize_t)size || text[size] == '.');
}

static unsigned read_nibble(const uint32_t *digits, int number)
{
    unsigned nibble = 0;

    for (int i = 3; i >= 0; i--) {
        int bit = 4 * number + i;

        nibble = nibble << 1 | (digits[bit / PyLong_SHIFT] >> bit % PyLong_SHIFT & 1);
    }
    return nibble;
}

enum { UUID_BITS = 128, UUID_DIGITS = UUID_BITS / PyLong_SHIFT + 1 };

static int put_uuid(struct text *text, PyObject *value)
{
    struct wanted wanted = {.name = {"int"}};
    uint32_t digits[UUID_DIGITS] = {0};

    if (!is_class(Py_TYPE(value), "UUID", "uuid") || !read_attributes(value, &wanted) ||
        wanted.value[0] == NULL || !PyLong_CheckExact(wanted.value[0]) ||
        (size_t)_PyLong_NumBits(wanted.value[0]) > UUID_BITS)
        return 0;
    read_digits(wanted.value[0], digits, UUID_DIGITS);
    put(text, "UUID('");
    for (int i = UUID_BITS / 4; i-- > 0;)
        put(text, "%x%s", read_nibble(digits, i),
            i == 24 || i == 20 || i == 16 || i == 12 ? "-" : "");
    put(text, "')");
    return 1;
}

/* ---- enumerations ---- */

static int is_enumeration(PyTypeObject *type)
{
    PyTypeObject *kind = Py_TYPE(type);

    return is_class(kind, "EnumType", "enum") || is_class(kind, "EnumMeta", "enum");
}

int pyusdt_read_enum(PyObject *value, PyObject **name, PyObject **member)
{
    struct wanted wanted = {.name = {"_name_", "_value_"}};

    if (!is_enumeration(Py_TYPE(value)) || !read_attributes(value, &wanted))
        return 0;
    *name = wanted.value[0];
    *member = wanted.value[1];
    return *name != NULL && PyUnicode_CheckExact(*name) && *member != NULL;
}

/* ---- paths ---- */

int pyusdt_read_path(PyObject *value, PyObject **parts)
{
    static const char *const classes[] = {"PosixPath", "PurePosixPath", "WindowsPath",
                                          "PureWindowsPath"};
    struct wanted wanted = {.name = {"_str", "_raw_paths", "_parts"}};
    int is_path = 0;

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        is_path = is_path || is_class(Py_TYPE(value), classes[i], "pathlib");
    if (!is_path || !read_attributes(value, &wanted))
        return 0;
    for (int i = 0; i < ATTRIBUTES; i++) {
        *parts = wanted.value[i];
        if (*parts != NULL && (PyUnicode_CheckExact(*parts) || PyList_CheckExact(*parts)))
            return 1;
    }
    return 0;
}

/* ---- all ---- */

size_t pyusdt_write_known(PyObject *value, char *bytes, size_t room, PyObject **zone)
{
    struct text text = {bytes, 0, room};

    *zone = NULL;
    if (PyComplex_CheckExact(value))
        put_complex(&text, value);
    else if (!put_date_or_time(&text, value, zone) && !put_decimal_type(&text, value) &&
             !put_numpy(&text, value))
        return 0;
    return text.size;
}

size_t pyusdt_write_uuid(PyObject *value, char *bytes, size_t room)
{
    struct text text = {bytes, 0, room};

    return put_uuid(&text, value) ? text.size : 0;
}

#else
typedef int pyusdt_no_known_types; /* a file has to have something in it */
#endif
