/* See object_reads.h. */
#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE 1
#include "_core_c/vm/object_reads.h"

#if PYUSDT_READS_OBJECTS

#include <string.h>
#include <structmember.h>

#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_dict.h>
#include <internal/pycore_object.h>
#endif

/* ---- texts and numbers ---- */

int pyusdt_is_same_text(PyObject *one, PyObject *other)
{
    return one == other ||
           (PyUnicode_CheckExact(one) && PyUnicode_GET_LENGTH(one) == PyUnicode_GET_LENGTH(other) &&
            PyUnicode_KIND(one) == PyUnicode_KIND(other) &&
            memcmp(PyUnicode_DATA(one), PyUnicode_DATA(other),
                   (size_t)PyUnicode_GET_LENGTH(one) * PyUnicode_KIND(one)) == 0);
}

int pyusdt_read_int(PyObject *value, int64_t *out)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

    *out = overflow > 0 ? INT64_MAX : overflow < 0 ? INT64_MIN : number;
    return overflow == 0;
}

/* Another thread may rename the type while it is read. */
size_t pyusdt_read_type_name(PyTypeObject *type, char *name, size_t room)
{
    const char *now = __atomic_load_n(&type->tp_name, __ATOMIC_ACQUIRE);
    size_t size = strnlen(now, room);

    memcpy(name, now, size);
#ifdef Py_GIL_DISABLED
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&type->tp_name, __ATOMIC_RELAXED) != now) {
        pyusdt_set_busy();
        return 0;
    }
#endif
    return size;
}

Py_ssize_t pyusdt_read_length(PyObject *value)
{
    if (PyUnicode_Check(value))
        return PyUnicode_GET_LENGTH(value);
    if (PyList_Check(value) || PyTuple_Check(value) || PyBytes_Check(value))
        return Py_SIZE(value);
    if (PyDict_Check(value))
        return ((PyDictObject *)value)->ma_used;
    return PyAnySet_Check(value) ? PySet_GET_SIZE(value) : -1;
}

/* ---- the table of a dict, or of the attributes that instances of a class share ---- */

struct table {
    const char *indices;
    const char *entries;
    size_t size;          /* of the indices, a power of 2 */
    unsigned index_bytes; /* of an index */
    unsigned entry_words; /* of an entry: {hash, key, value}, or without the hash */
    Py_ssize_t nentries;
    PyObject **values;    /* of an instance, or NULL: in the entries */
    const uint8_t *order; /* in which they were set, or NULL: that of the entries */
    Py_ssize_t nordered;
};

#if PY_VERSION_HEX < 0x030b0000

/* Objects/dict-common.h, which is not installed. */
struct _dictkeysobject {
    Py_ssize_t dk_refcnt, dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable, dk_nentries;
    char dk_indices[];
};

static struct table make_table(PyDictKeysObject *keys, PyObject **values)
{
    unsigned bytes = keys->dk_size <= 0xff         ? 1
                     : keys->dk_size <= 0xffff     ? 2
                     : keys->dk_size <= 0xffffffff ? 4
                                                   : 8;

    return (struct table){.indices = keys->dk_indices,
                          .entries = keys->dk_indices + (size_t)keys->dk_size * bytes,
                          .size = (size_t)keys->dk_size,
                          .index_bytes = bytes,
                          .entry_words = 3,
                          .nentries = keys->dk_nentries,
                          .values = values};
}

static struct table dict_table(PyObject *dict)
{
    return make_table(((PyDictObject *)dict)->ma_keys, ((PyDictObject *)dict)->ma_values);
}

#else

static struct table make_table(PyDictKeysObject *keys, PyObject **values)
{
    return (struct table){.indices = keys->dk_indices,
                          .entries = keys->dk_indices + ((size_t)1 << keys->dk_log2_index_bytes),
                          .size = (size_t)1 << keys->dk_log2_size,
                          .index_bytes = 1u << (keys->dk_log2_index_bytes - keys->dk_log2_size),
                          .entry_words = keys->dk_kind == DICT_KEYS_GENERAL ? 3 : 2,
                          .nentries = keys->dk_nentries,
                          .values = values};
}

/* values: of an instance, or NULL. */
static struct table make_split_table(PyDictKeysObject *keys, PyDictValues *values)
{
    struct table table = make_table(keys, values != NULL ? values->values : NULL);

#if PY_VERSION_HEX >= 0x030d0000 /* from here on a class sets the keys before the instance does */
    if (values != NULL) {
        table.order = (const uint8_t *)&values->values[values->capacity];
        table.nordered = values->size;
    }
#endif
    return table;
}

static struct table dict_table(PyObject *dict)
{
    return make_split_table(((PyDictObject *)dict)->ma_keys, ((PyDictObject *)dict)->ma_values);
}

#endif

static int64_t read_index_at(const struct table *table, size_t at)
{
    const char *place = table->indices + at * table->index_bytes;

    switch (table->index_bytes) {
    case 1:
        return *(const int8_t *)place;
    case 2:
        return *(const int16_t *)place;
    case 4:
        return *(const int32_t *)place;
    default:
        return *(const int64_t *)place;
    }
}

static PyObject *entry_key(const struct table *table, int64_t index)
{
    const char *entry = table->entries + (size_t)index * table->entry_words * sizeof(PyObject *);

    return ((PyObject *const *)entry)[table->entry_words - 2];
}

static PyObject *entry_value(const struct table *table, int64_t index)
{
    const char *entry = table->entries + (size_t)index * table->entry_words * sizeof(PyObject *);

    return table->values != NULL ? table->values[index]
                                 : ((PyObject *const *)entry)[table->entry_words - 1];
}

/* Either a text, or a number if text is NULL. */
struct wanted_key {
    Py_hash_t hash;
    PyObject *text;
    int64_t number;
};

static int is_wanted(const struct wanted_key *wanted, PyObject *key)
{
    int64_t number;

    if (wanted->text != NULL)
        return key == wanted->text ||
               (PyUnicode_CheckExact(key) && ((PyASCIIObject *)key)->hash == wanted->hash &&
                pyusdt_is_same_text(key, wanted->text));
    return PyLong_CheckExact(key) && pyusdt_read_int(key, &number) && number == wanted->number;
}

/* The order in which CPython itself searches; it ends at a free place, which each table has. */
static PyObject *find(const struct table *table, const struct wanted_key *wanted)
{
    size_t mask = table->size - 1, perturb = (size_t)wanted->hash, at = perturb & mask;

    for (size_t left = table->size + 64; left > 0; left--) {
        int64_t index = read_index_at(table, at);

        if (index == -1)
            return NULL;
        if (index >= 0 && index < table->nentries && entry_key(table, index) != NULL &&
            is_wanted(wanted, entry_key(table, index)))
            return entry_value(table, index);
        perturb >>= 5;
        at = (at * 5 + perturb + 1) & mask;
    }
    return NULL;
}

/* 0: it is busy. */
static int lock_dict(PyObject *dict, struct table *table)
{
    if (!pyusdt_lock(dict))
        return 0;
    *table = dict_table(dict);
    return 1;
}

static PyObject *find_text(PyObject *dict, PyObject *name)
{
    struct table table;

    if (!lock_dict(dict, &table))
        return NULL;
    return find(&table, &(struct wanted_key){.hash = ((PyASCIIObject *)name)->hash, .text = name});
}

/* As hash() of an int. */
static Py_hash_t hash_number(int64_t number)
{
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    Py_hash_t hash = (Py_hash_t)(size % ((1ull << 61) - 1));

    hash = number < 0 ? -hash : hash;
    return hash == -1 ? -2 : hash;
}

static PyObject *find_number(PyObject *dict, int64_t number)
{
    struct table table;

    if (!lock_dict(dict, &table))
        return NULL;
    return find(&table, &(struct wanted_key){.hash = hash_number(number), .number = number});
}

/* ---- attributes ---- */

/* A type that another one is derived from, by its number in their order; NULL: there are no more.
 *
 * Without the GIL another thread may replace the tuple of them and free it. Its memory stays
 * readable as long as this thread runs, so what was read is valid if the type has the same tuple
 * afterwards. The types in it live at least as long: only a collection frees types, and it stops all
 * threads. */
static PyTypeObject *read_base(PyTypeObject *type, Py_ssize_t i)
{
#ifdef Py_GIL_DISABLED
    unsigned int version = __atomic_load_n(&type->tp_version_tag, __ATOMIC_ACQUIRE);
    PyObject *mro = __atomic_load_n(&type->tp_mro, __ATOMIC_ACQUIRE), *base;

    if (mro == NULL || i >= PyTuple_GET_SIZE(mro))
        return NULL;
    base = __atomic_load_n(&PyTuple_GET_ITEM(mro, i), __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&type->tp_mro, __ATOMIC_ACQUIRE) != mro ||
        __atomic_load_n(&type->tp_version_tag, __ATOMIC_ACQUIRE) != version) {
        pyusdt_set_busy();
        return NULL;
    }
#else
    PyObject *mro = type->tp_mro, *base;

    if (mro == NULL || !PyTuple_Check(mro) || i >= PyTuple_GET_SIZE(mro))
        return NULL;
    base = PyTuple_GET_ITEM(mro, i);
#endif
    return PyType_Check(base) ? (PyTypeObject *)base : NULL;
}

static int is_instance(PyObject *object, PyTypeObject *type)
{
    PyTypeObject *base = Py_TYPE(object);

    for (Py_ssize_t i = 0; base != NULL && base != type; i++)
        base = read_base(Py_TYPE(object), i);
    return base != NULL;
}

/* The dict of a type; NULL: it is not made yet. */
static PyObject *type_dict(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *dict = PyType_GetDict(type);

    Py_XDECREF(dict); /* the type keeps it as long as it lives */
#else
    PyObject *dict = type->tp_dict;
#endif
    return dict != NULL && PyDict_Check(dict) ? dict : NULL;
}

/* What a type, or one that it is derived from, has by a name. The dict that has it stays locked. */
static PyObject *find_in_types(PyTypeObject *type, PyObject *name)
{
    PyTypeObject *base;

    for (Py_ssize_t i = 0; (base = read_base(type, i)) != NULL; i++) {
        unsigned locked = pyusdt_locked();
        PyObject *dict = type_dict(base);
        PyObject *found = dict != NULL ? find_text(dict, name) : NULL;

        if (found != NULL || pyusdt_is_busy())
            return found;
        pyusdt_unlock_to(locked);
    }
    return NULL;
}

/* A dict that a type keeps at an offset, as types without a managed dict do; NULL: none yet. */
static PyObject *own_dict(PyObject *object, PyTypeObject *type)
{
    Py_ssize_t offset = type->tp_dictoffset, items;

    if (offset == 0 || offset == -1) /* -1: a managed dict, which is looked for elsewhere */
        return NULL;
    if (offset < 0) {
        items = Py_SIZE(object);
#if PY_VERSION_HEX >= 0x030c0000
        if (PyLong_Check(object))
            items = (Py_ssize_t)(((PyLongObject *)object)->long_value.lv_tag >> 3);
#endif
        offset += (Py_ssize_t)_PyObject_VAR_SIZE(type, items < 0 ? -items : items);
    }
    return *(PyObject **)((char *)object + offset);
}

#if PY_VERSION_HEX >= 0x030b0000

static int values_table(PyTypeObject *type, PyDictValues *values, struct table *table)
{
    PyDictKeysObject *keys = ((PyHeapTypeObject *)type)->ht_cached_keys;

    if (keys == NULL || keys->dk_kind == DICT_KEYS_GENERAL)
        return 0;
    *table = make_split_table(keys, values);
    return 1;
}

/* Of an instance whose dict CPython manages: its values if they are there, else *dict. */
static PyDictValues *managed_values(PyObject *object, PyTypeObject *type, PyObject **dict)
{
#if PY_VERSION_HEX >= 0x030d0000
    *dict = (PyObject *)_PyObject_ManagedDictPointer(object)->dict;
    return *dict == NULL && type->tp_flags & Py_TPFLAGS_INLINE_VALUES &&
                   _PyObject_InlineValues(object)->valid
               ? _PyObject_InlineValues(object)
               : NULL;
#elif PY_VERSION_HEX >= 0x030c0000
    PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);

    (void)type;
    if (_PyDictOrValues_IsValues(either))
        return _PyDictOrValues_GetValues(either);
    *dict = _PyDictOrValues_GetDict(either);
    return NULL;
#else
    (void)type;
    *dict = *_PyObject_ManagedDictPointer(object);
    return *_PyObject_ValuesPointer(object);
#endif
}

#endif

/* Where an instance keeps its attributes: 0: nowhere, or it is busy; 1: *table is it. */
static int instance_table(PyObject *object, struct table *table)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *dict = NULL;

    if (!pyusdt_lock(object))
        return 0;
#if PY_VERSION_HEX >= 0x030b0000
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        PyDictValues *values = managed_values(object, type, &dict);

        if (values != NULL)
            return values_table(type, values, table);
    } else
#endif
        dict = own_dict(object, type);
    return dict != NULL && PyDict_Check(dict) && lock_dict(dict, table);
}

/* What an instance itself has by a name. */
static PyObject *find_in_instance(PyObject *object, PyObject *name)
{
    struct table table;

    return instance_table(object, &table)
               ? find(&table,
                      &(struct wanted_key){.hash = ((PyASCIIObject *)name)->hash, .text = name})
               : NULL;
}

/* The value of a slot: a member of objects that this object has, too. */
static PyObject *read_slot(PyObject *object, PyObject *descriptor)
{
    PyMemberDef *member = ((PyMemberDescrObject *)descriptor)->d_member;

    if (!is_instance(object, PyDescr_TYPE(descriptor)) ||
        (member->type != T_OBJECT && member->type != T_OBJECT_EX) || !pyusdt_lock(object))
        return NULL;
    return *(PyObject **)((char *)object + member->offset);
}

/* The index that a field of a named tuple has; -1: it is no such field. Its type is C's
 * _tuplegetter, whose first member is the index: no program can make a static or an immutable type
 * of that name. */
static Py_ssize_t field_index(PyObject *descriptor)
{
    PyTypeObject *type = Py_TYPE(descriptor);

    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE))
        return -1;
    if (strcmp(type->tp_name, "_collections._tuplegetter") != 0 &&
        strcmp(type->tp_name, "collections._tuplegetter") != 0)
        return -1;
    return *(Py_ssize_t *)((char *)descriptor + sizeof(PyObject));
}

/* What every exception has in its structure, behind descriptors of BaseException. */
static PyObject *read_of_exception(PyObject *object, PyObject *descriptor, PyObject *name)
{
    PyBaseExceptionObject *exception = (PyBaseExceptionObject *)object;

    if (!PyExceptionInstance_Check(object) || !Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) ||
        PyDescr_TYPE(descriptor) != (PyTypeObject *)PyExc_BaseException)
        return NULL;
    if (PyUnicode_CompareWithASCIIString(name, "args") == 0)
        return exception->args;
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030e0000
    return NULL; /* a thread that raises it, too, changes the others without its lock */
#endif
    if (PyUnicode_CompareWithASCIIString(name, "__cause__") == 0)
        return exception->cause;
    return PyUnicode_CompareWithASCIIString(name, "__context__") == 0 ? exception->context : NULL;
}

PyObject *pyusdt_read_attribute(PyObject *object, PyObject *name)
{
    PyObject *of_type, *own;
    Py_ssize_t index;

    if (PyType_Check(object)) {
        of_type = find_in_types((PyTypeObject *)object, name);
        return of_type != NULL && Py_TYPE(of_type)->tp_descr_get == NULL ? of_type : NULL;
    }
    of_type = find_in_types(Py_TYPE(object), name);
    if (pyusdt_is_busy())
        return NULL;
    if (of_type != NULL && Py_IS_TYPE(of_type, &PyMemberDescr_Type))
        return read_slot(object, of_type);
    index = of_type != NULL ? field_index(of_type) : -1;
    if (index >= 0)
        return PyTuple_Check(object) && index < PyTuple_GET_SIZE(object)
                   ? PyTuple_GET_ITEM(object, index)
                   : NULL;
    own = find_in_instance(object, name);
    if (own != NULL || of_type == NULL || pyusdt_is_busy())
        return own;
    if (Py_TYPE(of_type)->tp_descr_get == NULL && Py_TYPE(of_type)->tp_descr_set == NULL)
        return of_type;
    return read_of_exception(object, of_type, name);
}

/* ---- all of them ---- */

static int visit_table(const struct table *table, pyusdt_visitor visit, void *arg)
{
    Py_ssize_t n = table->order != NULL ? table->nordered : table->nentries;

    for (Py_ssize_t i = 0; i < n && i < PYUSDT_READ_VISITS; i++) {
        Py_ssize_t at = table->order != NULL ? table->order[i] : i;
        PyObject *key = at < table->nentries ? entry_key(table, at) : NULL;
        PyObject *value = key != NULL ? entry_value(table, at) : NULL;

        if (key != NULL && value != NULL && !visit(arg, key, value))
            return 0;
    }
    return 1;
}

/* Of a class with __slots__ its own ones; their names are those of the descriptors in its dict.
 * The class's dict is locked. */
static int visit_slots(PyObject *object, PyTypeObject *type, pyusdt_visitor visit, void *arg)
{
    PyObject *key, *descriptor;
    Py_ssize_t at = 0;

    for (int left = PYUSDT_READ_VISITS;
         left > 0 && PyDict_Next(type->tp_dict, &at, &key, &descriptor); left--) {
        PyObject *value =
            Py_IS_TYPE(descriptor, &PyMemberDescr_Type) ? read_slot(object, descriptor) : NULL;

        if (value != NULL && PyDescr_TYPE(descriptor) == type && !visit(arg, key, value))
            return 0;
    }
    return 1;
}

static int has_slots(PyTypeObject *type)
{
    return type->tp_flags & Py_TPFLAGS_HEAPTYPE && type->tp_members != NULL &&
           type->tp_dict != NULL;
}

/* A visitor takes what is busy for it, so this asks before each call of one. */
int pyusdt_visit_attributes(PyObject *object, pyusdt_visitor visit, void *arg)
{
    PyTypeObject *base;
    struct table table;
    int is_whole = pyusdt_lock(object);

    for (Py_ssize_t i = 0; is_whole && (base = read_base(Py_TYPE(object), i)) != NULL; i++) {
        if (!has_slots(base))
            continue;
        is_whole = pyusdt_lock(base->tp_dict);
        if (is_whole && !visit_slots(object, base, visit, arg))
            return 1;
    }
    if (!is_whole || pyusdt_is_busy())
        return 0;
    if (!instance_table(object, &table))
        return !pyusdt_is_busy();
    visit_table(&table, visit, arg);
    return 1;
}

int pyusdt_visit_items(PyObject *dict, pyusdt_visitor visit, void *arg)
{
    struct table table;

    if (!lock_dict(dict, &table))
        return 0;
    visit_table(&table, visit, arg);
    return 1;
}

/* ---- items and keys ---- */

/* Of a class itself. */
static PyObject *find_field(PyTypeObject *type, Py_ssize_t index)
{
    PyObject *key, *descriptor;
    Py_ssize_t at = 0;

    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_dict == NULL ||
        !pyusdt_lock(type->tp_dict))
        return NULL;
    for (int left = PYUSDT_READ_VISITS;
         left > 0 && PyDict_Next(type->tp_dict, &at, &key, &descriptor); left--)
        if (field_index(descriptor) == index && PyUnicode_Check(key))
            return key;
    return NULL;
}

PyObject *pyusdt_read_index(PyObject *object, int64_t number)
{
    Py_ssize_t size;
    int64_t at;

    if (PyDict_Check(object))
        return find_number(object, number);
    if (!PyTuple_Check(object) && !(PyList_Check(object) && pyusdt_lock(object)))
        return NULL;
    size = Py_SIZE(object);
    at = number < 0 ? number + size : number;
    if (at < 0 || at >= size)
        return NULL;
    return PyList_Check(object) ? PyList_GET_ITEM(object, at) : PyTuple_GET_ITEM(object, at);
}

PyObject *pyusdt_read_field_name(PyObject *tuple, Py_ssize_t index)
{
    PyTypeObject *base;

    for (Py_ssize_t i = 0; (base = read_base(Py_TYPE(tuple), i)) != NULL; i++) {
        unsigned locked = pyusdt_locked();
        PyObject *name = find_field(base, index);

        if (name != NULL)
            return name;
        pyusdt_unlock_to(locked);
    }
    return NULL;
}

PyObject *pyusdt_read_key(PyObject *object, PyObject *name)
{
    return PyDict_Check(object) ? find_text(object, name) : NULL;
}

#else
typedef int pyusdt_no_object_reads; /* a file has to have something in it */
#endif
